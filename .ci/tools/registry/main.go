// Command registry is the CNCF distribution registry that the tests run, with the parts that they
// use: storage in files, and the htpasswd and token schemes. The published program also links the
// clients of three clouds, which take longer to compile than the rest.
package main

import (
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/auth/token"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

func main() {
	if registry.RootCmd.Execute() != nil { // it prints the error
		os.Exit(1)
	}
}
