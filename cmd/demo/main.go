// Command demo shows Gantry at work, on one machine and in under a minute.
//
// It starts three registries in memory on loopback: a source in place of the internet, and two
// mirrors. It fills the source with two sample catalogs whose images all exist, and runs the gantry
// program like a user: it writes a first configuration, plans, mirrors to a disk and signs it, disconnects the source,
// verifies the disk and mirrors from it to the first mirror. With a changed configuration, another disk
// brings what is new. With the source connected again, it mirrors directly to the second mirror,
// which also gets a Helm chart with the image that it names, whose signature a policy requires, a file, and
// the platform releases of an update path, from an update service and a signature store on loopback. It proves that the updates are
// possible from that mirror. At the end, it reads both mirrors with a client that shares no code with
// Gantry, and pulls every image that the filtered catalogs name.
//
// At the end, it prints how long each step took. "make demo" starts it. Its files remain in a folder (-dir) until the next run.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	gantry := flag.String("gantry", filepath.Join("bin", "gantry"), "the gantry program to show")
	dir := flag.String("dir", filepath.Join("bin", "demo"), "folder for plan, archive and workspaces; those of an earlier run are removed")
	built := flag.Int("built", 0, "how many `seconds` the build took, for the table of times")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *gantry, *dir, time.Duration(*built)*time.Second)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program, dir string, built time.Duration) error {
	began := time.Now()
	d, err := newDemo(program, dir, os.Stdout)
	if err != nil {
		return err
	}
	defer d.close()
	for _, step := range []func(context.Context) error{
		d.fillSource, d.initialize, d.plan, d.mirrorToDisk, d.verifyDisk, d.mirrorFromDisk, d.carryWhatIsNew, d.mirrorDirectly, d.mirrorAgain, d.mirrorContent, d.platformReleases, d.verify,
	} {
		err := step(ctx)
		if err = cmp.Or(d.err, err); err != nil {
			return err
		}
	}
	return d.summary(time.Since(began), built)
}
