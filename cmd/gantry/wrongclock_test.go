package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// wrongClock is the environment variable with how far the clock of the program is ahead; its arguments are those of
// the test binary after "--".
const wrongClock = "GANTRY_TEST_AHEAD"

// at returns the fixture with a clock of the program that is ahead.
func (w *fixture) at(ahead time.Duration) *fixture {
	other := *w
	other.ahead = ahead
	return &other
}

// gantryAhead runs the program in a separate process whose clock is w.ahead of the one of this host.
func (w *fixture) gantryAhead(args []string) outcome {
	w.t.Helper()
	program, err := os.Executable()
	fail.On(w.t, err)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(w.t.Context(), program, append([]string{"-test.run=^TestProgramAhead$", "--"}, args...)...)
	cmd.Env = append(os.Environ(), wrongClock+"="+w.ahead.String())
	cmd.Env = append(cmd.Env, elements.Map(sortedKeys(w.env), func(name string) string { return name + "=" + w.env[name] })...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// TestProgramAhead is the program in the process of gantryAhead. The clock of a synctest bubble begins in the year
// 2000, and time passes there only while everything waits for timers.
func TestProgramAhead(t *testing.T) {
	if os.Getenv(wrongClock) == "" {
		t.Skip("it is run by other tests")
	}
	ahead, err := time.ParseDuration(os.Getenv(wrongClock))
	fail.On(t, err)
	now := time.Now().Add(ahead)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // so that the goroutines for signals are outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now)) //nolint:forbidigo // in a synctest bubble
		os.Exit((&app{stdout: os.Stdout, stderr: os.Stderr}).run(flag.Args()))
	})
}

// dated sends responses with another date than the one of the registry's clock.
func dated(difference time.Duration) registrytest.Rule {
	return registrytest.Rule{Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		rw.Header()["Date"] = []string{time.Now().Add(difference).UTC().Format(http.TimeFormat)}
		next.ServeHTTP(rw, r)
	}}
}

// oneYear is longer than all times that prune is given.
const oneYear = 365 * 24 * time.Hour

// TestWrongClocks mirrors, carries and prunes while the clock of the host, or the one of the registry, is a year
// back or ahead, and then right again. What was wanted a moment ago stays with --older-than, all that is wanted
// stays without it, archives follow each other, and runs find out that another run has the lease.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	fewer := short(t)
	w := newFixture(t, registrytest.Options{})
	carried := func(tag string) string {
		return w.config("carried.yaml", "  additionalImages:\n  - name: images.example.net/tools/"+tag+"\n    targetRepo: carried\n")
	}
	week := 0
	run := func(ahead time.Duration) {
		w := w.at(ahead)
		week++
		isc, image := w.operators("lantern", "tidewater"), "netcheck:1.4"
		if week%2 == 0 {
			isc, image = w.operators("lantern"), "must-gather:4.20"
		}
		disk := w.path(fmt.Sprintf("disk%d", week))
		w.must("mirror", "-c", isc, "--name", "direct", w.docker("/site"), "--workspace", w.path("near"))
		w.must("mirror", "-c", carried(image), fileScheme+disk, "--workspace", w.path("outside"))
		if sets, err := filepath.Glob(filepath.Join(disk, fmt.Sprintf("gantry-*%06d*", week))); err != nil || len(sets) == 0 {
			w.t.Errorf("week %d: no archive with this number: %v", week, err)
		}
		w.must("mirror", "--from", fileScheme+disk, w.docker("/site"), "--workspace", w.path("inside"))
		r := w.pruned(exitOK, "--yes", "--older-than", "30d", "--workspace", w.path("near"))
		if r.Deleted != nil || !r.Plan.Empty() {
			w.t.Errorf("week %d: prune deleted %+v of %+v", week, r.Deleted, r.Plan)
		}
		w.must("verify", "-c", isc, "--name", "direct", w.docker("/site"), "--workspace", w.path("near"))
		w.must("verify", w.docker("/site"), "--workspace", w.path("inside"))
	}
	if fewer {
		run(-oneYear)
		run(0)
	} else {
		// The first two states of the mirror have no earlier one whose time shows that the clock is back.
		for _, difference := range []time.Duration{-oneYear, -oneYear, 0, oneYear, 0} {
			run(difference)
		}
		for _, difference := range []time.Duration{oneYear, -oneYear} {
			w.mirror.Script(dated(difference))
			run(0)
		}
		w.mirror.Script()
		run(0)
	}

	reached, resume := make(chan struct{}), make(chan struct{})
	w.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/gantry-image-sets/manifests/", Nth: 1, Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		close(reached)
		<-resume
		next.ServeHTTP(rw, r)
	}})
	first, stderr := w.process(t.Context(), "mirror", "-c", w.operators("lantern"), "--name", "direct", w.docker("/site"), "--workspace", w.path("near")), &bytes.Buffer{}
	first.Stderr = stderr
	fail.On(t, first.Start())
	select {
	case <-reached:
	case <-t.Context().Done():
		t.Fatal("the run did not write its record")
	}
	for _, difference := range []time.Duration{-oneYear, oneYear} {
		w.at(difference).refuse(exitLocked, []string{"is used by another run"}, "prune", "--yes", w.docker("/site"), "--workspace", w.path("another"))
	}
	close(resume)
	if err := first.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	w.mirror.Script()
	if o := w.at(oneYear).must("prune", "--older-than", "30d", w.docker("/site")); !strings.Contains(o.stderr, "the clock of this host shows ") {
		t.Errorf("no message about the clock:\n%s", o.stderr)
	}
	r := w.at(-oneYear).pruned(exitOK, "--yes", "--workspace", w.path("near"))
	if r.Deleted == nil || r.Deleted.Manifests == 0 || !slices.Contains(r.ImageSets, "direct") {
		t.Errorf("prune without a time deleted %+v", r.Deleted)
	}
	w.must("verify", w.docker("/site"), "--workspace", w.path("inside"))
}
