// Command ociregistry is the registry in memory of cuelabs.dev/go/oci/ociregistry. It listens on a socket file.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"cuelabs.dev/go/oci/ociregistry/ocimem"
	"cuelabs.dev/go/oci/ociregistry/ociserver"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: ociregistry SOCKET")
		os.Exit(1)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "unix", os.Args[1])
	if err == nil {
		server := http.Server{Handler: ociserver.New(ocimem.New(), nil)}
		err = server.Serve(l)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
