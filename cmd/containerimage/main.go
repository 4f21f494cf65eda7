// Command containerimage makes the container image of Gantry without a container engine: make image.
//
// The image has the two programs, the certificate authorities of Mozilla, the time zone database of Go, and
// an empty folder /workspace that the user of the image owns. It has no shell and no package manager. The
// same programs, time and labels give the same digest. The result is an OCI image layout with an index of
// one image for each platform; with -push, it is also pushed to a registry.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn" //nolint:depguard // it is not part of the program
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote" //nolint:depguard // it is not part of the program
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "containerimage:", err)
		os.Exit(1)
	}
}

// run makes the image that the arguments describe, and prints where it is and its digest.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("containerimage", flag.ContinueOnError)
	var (
		programs  = flags.String("programs", "bin", "the folder with the programs of each platform, as `DIR`/OS-ARCH/gantry")
		platforms = flags.String("platforms", "linux/amd64", "the `PLATFORMS` of the image, separated by commas")
		zones     = flags.String("zoneinfo", "", "the `FILE` lib/time/zoneinfo.zip of the Go installation")
		licenses  = flags.String("licenses", "", "the `FILES` with licenses, separated by commas")
		to        = flags.String("to", "bin/image", "the `DIR` of the OCI image layout")
		version   = flags.String("version", "", "the version that the labels name")
		revision  = flags.String("revision", "", "the commit that the labels name")
		push      = flags.String("push", "", "push the image as `HOST/REPOSITORY:TAG`; credentials are those of docker")
		insecure  = flags.Bool("insecure", false, "push with http")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	modified, err := sourceDate(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	index, err := build(contents{programs: *programs, zoneinfo: *zones, licenses: *licenses, modified: modified}, strings.Split(*platforms, ","), labels(*version, *revision))
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if err := writeLayout(*to, index); err != nil {
		return err
	}
	fmt.Printf("%s@%s\n", *to, digest)
	if *push == "" {
		return nil
	}
	options := []name.Option{name.StrictValidation}
	if *insecure {
		options = append(options, name.Insecure)
	}
	ref, err := name.ParseReference(*push, options...)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(ref, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("pushing %s: %w", ref, err)
	}
	fmt.Printf("%s@%s\n", ref.Context(), digest)
	return nil
}

// sourceDate returns the time of SOURCE_DATE_EPOCH in seconds, or 1970 without one. All files have it, so that
// the image depends on nothing but its content.
func sourceDate(seconds string) (time.Time, error) {
	if seconds == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds", seconds)
	}
	return time.Unix(n, 0).UTC(), nil
}

// writeLayout replaces the layout in dir.
func writeLayout(dir string, index v1.ImageIndex) error {
	if _, err := os.Stat(dir); err == nil {
		if _, err := layout.FromPath(dir); err != nil {
			return fmt.Errorf("%s is not an OCI image layout, and is not replaced", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "gantry"}))
}
