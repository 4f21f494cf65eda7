// Command registry2 is the CNCF distribution registry 2.8, with the parts that the tests use. Debian's docker-registry
// is made of the same source.
package main

import (
	"os"

	"github.com/docker/distribution/registry"
	_ "github.com/docker/distribution/registry/auth/htpasswd"
	_ "github.com/docker/distribution/registry/auth/token"
	_ "github.com/docker/distribution/registry/storage/driver/filesystem"
)

func main() {
	if registry.RootCmd.Execute() != nil { // it prints the error
		os.Exit(1)
	}
}
