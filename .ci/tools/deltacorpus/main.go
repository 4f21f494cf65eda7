// Command deltacorpus builds layers of consecutive versions of real programs and measures how small
// and how expensive deltas between them are.
//
//	deltacorpus build -dir DIR             download, build, pack and compress the layers
//	deltacorpus measure -dir DIR [-o FILE] measure every pair of consecutive versions
//	deltacorpus build -compact -dir DIR    make the images for compact
//	deltacorpus compact -dir DIR -gantry PROGRAM [-flags FLAGS] [-zstd]
//	                                       measure archives of images that gantry writes and imports
//
// The programs are listed in list.json: Go modules, which the Go tool downloads and builds; Debian
// packages, which apt-get downloads; npm packages, which npm downloads. The addresses of registries
// come from the configuration of these clients. The list has the SHA-256 of everything that is
// downloaded; other content is refused.
//
// Each version becomes one layer: a tar archive with sorted paths and fixed owners, the same on every
// machine if the versions of Go and Python are the same. It is compressed by several compressors, as
// other programs would compress it. DIR has to be outside of the repository; it keeps downloads, tar
// archives (tars), compressed layers (blobs) and index.json, which lists them and the pairs. Files that
// exist are not made again.
//
// measure encodes the newer layer of each pair as a delta against the older one, in a process of its
// own, so that its memory is for one delta, rebuilds the compressed layers from it and compares
// their digests. The result is a table in Markdown.
//
// compact puts the images into a registry on loopback, one repository for each series. Gantry writes
// archives of each kind, of all, and of the newest image of each series, with each mode of --compact,
// and imports them into an empty registry, which has to receive every blob.
//
// It is a separate module because it compresses with libraries that Gantry does not need.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run is main with its dependencies as parameters. It returns the exit status: 0, 1 for an error, 2
// for a wrong command line, 130 if it was interrupted.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	verb, args := "", args
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	var err error
	switch verb {
	case "build":
		err = runBuild(ctx, args, stderr)
	case "measure":
		err = runMeasure(ctx, args, stdout, stderr)
	case "compact":
		err = runCompact(ctx, args, stdout, stderr)
	case childVerb:
		err = runChild(ctx, stdin, stdout)
	default:
		err = usageError("usage: deltacorpus build|measure|compact -dir DIR [flags]")
	}
	var usage usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case ctx.Err() != nil:
		return 130
	case errors.As(err, &usage):
		_, _ = fmt.Fprintln(stderr, err)
		return 2
	default:
		_, _ = fmt.Fprintf(stderr, "deltacorpus: %v\n", err)
		return 1
	}
}

// A usageError is an error in the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// corpusFlags are the flags that all verbs have.
type corpusFlags struct {
	*flag.FlagSet
	dir  *string
	only *string
}

func newFlags(verb string, stderr io.Writer) corpusFlags {
	f := flag.NewFlagSet("deltacorpus "+verb, flag.ContinueOnError)
	f.SetOutput(stderr)
	return corpusFlags{f,
		f.String("dir", "", "the `folder` of the corpus, outside of the repository"),
		f.String("only", "", "only series with one of these `names` or kinds, separated by commas"),
	}
}

// parse reads the flags and returns a filter of series.
func (f corpusFlags) parse(args []string) (func(name, kind string) bool, error) {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, usageError(err.Error())
	}
	if *f.dir == "" {
		return nil, usageError("name the folder of the corpus with -dir")
	}
	if f.NArg() > 0 {
		return nil, usageError("unexpected argument " + f.Arg(0))
	}
	return func(name, kind string) bool {
		if *f.only == "" {
			return true
		}
		for _, want := range strings.Split(*f.only, ",") {
			if strings.EqualFold(want, name) || strings.EqualFold(want, kind) {
				return true
			}
		}
		return false
	}, nil
}
