package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// The directions in which content is copied.
const (
	toRegistry  = "registry to registry"
	toArchive   = "registry to archive"
	fromArchive = "archive to registry"
)

// largeSize is the size of the large layer in bytes. It is large enough that continuing after half
// of it is worthwhile.
const largeSize = 5 << 19

// A faultFixture is a fixture in which registries misbehave. Both registries require tokens. The source
// has three images. Two share the large layer; the third is an index.
type faultFixture struct {
	*fixture
	direction string
	large     digest.Digest
	// reference is where a run without faults copied everything in this direction. disk is the
	// archive to read, unless the direction writes one.
	reference, disk string
	config          string
	// carried has all blobs, each once.
	carried []digest.Digest
}

// newFaultFixtures returns a faultFixture for each direction. They share only the environment, so that
// they can run at the same time.
func newFaultFixtures(t *testing.T, directions ...string) []*faultFixture {
	t.Helper()
	var fixtures []*faultFixture
	var conf strings.Builder
	auths := map[string]json.RawMessage{}
	for _, direction := range directions {
		w := &fixture{t: t, dir: registrytest.TempDir(t)}
		options := registrytest.Options{Auth: registrytest.TokenAuth, TokenLifetime: time.Hour}
		w.source, w.mirror = registrytest.Start(t, options), registrytest.Start(t, options)
		for _, s := range []*registrytest.Server{w.source, w.mirror} {
			fmt.Fprintf(&conf, "[[registry]]\nlocation = %q\ninsecure = true\n\n", s.Host)
			text, err := os.ReadFile(s.AuthFile)
			fail.On(t, err)
			var file struct{ Auths map[string]json.RawMessage }
			fail.On(t, json.Unmarshal(text, &file))
			auths[s.Host] = file.Auths[s.Host]
		}
		fixtures = append(fixtures, &faultFixture{fixture: w, direction: direction})
	}
	text, err := json.Marshal(map[string]any{"auths": auths})
	fail.On(t, err)
	for _, s := range fixtures {
		s.surroundings(s.write("registries.conf", conf.String()), s.write("auth.json", string(text)))
		s.fill()
		s.copyUndisturbed()
		for _, r := range s.source.Log() {
			if r.Kind() == "GET blob" && !slices.Contains(s.carried, r.Digest()) {
				s.carried = append(s.carried, r.Digest())
			}
		}
	}
	return fixtures
}

// fill pushes the images to the source.
func (s *faultFixture) fill() {
	s.t.Helper()
	push := func(repository string, content registrytest.Content, err error) {
		s.t.Helper()
		if err == nil {
			_, err = s.source.Client().Push(s.t.Context(), repository, "v1", content)
		}
		fail.On(s.t, err)
	}
	large, err := registrytest.SizedImage("large", largeSize, 40_000)
	push("org/large", large, err)
	twin, err := registrytest.SizedImage("large", largeSize)
	push("org/twin", twin, err)
	multi, err := registrytest.Index("multi")
	push("org/multi", multi, err)
	var layers []v1.Layer
	if layers, err = large.Layers(); err != nil {
		s.t.Fatal(err)
	}
	h, err := layers[0].Digest()
	fail.On(s.t, err)
	s.large = digest.Digest(h.String())
	stanza := "  additionalImages:\n"
	for _, name := range []string{"large", "twin", "multi"} {
		stanza += fmt.Sprintf("  - name: %s/org/%s:v1\n", s.source.Host, name)
	}
	s.config = s.fixture.config("imageset.yaml", stanza)
}

// copyUndisturbed copies everything without faults, as the reference for runs with faults.
func (s *faultFixture) copyUndisturbed() {
	s.t.Helper()
	s.disk, s.reference = s.path("reference-disk"), "reference"
	if s.direction == toRegistry {
		s.must("mirror", "-c", s.config, s.docker("/reference"), "--workspace", s.path("reference-workspace"))
		return
	}
	s.must("mirror", "-c", s.config, "file://"+s.disk, "--workspace", s.path("reference-workspace"))
	if s.direction == toArchive {
		s.reference = s.disk
		return
	}
	s.must("mirror", "--from", "file://"+s.disk, s.docker("/reference"), "--workspace", s.path("reference-workspace"))
}

// to returns where the run with this name copies everything: the prefix of the repositories, or the
// archive's folder.
func (s *faultFixture) to(name string) string {
	if s.direction == toArchive {
		return s.path("disk-" + name)
	}
	return name
}

// args returns the arguments of the run with this name. Another run with the same name continues
// it.
func (s *faultFixture) args(name string) []string {
	args := []string{"mirror", "--workspace", s.path("workspace-" + name)}
	switch s.direction {
	case toArchive:
		return append(args, "-c", s.config, "file://"+s.to(name))
	case fromArchive:
		return append(args, "--from", "file://"+s.disk, s.docker("/"+name))
	}
	return append(args, "-c", s.config, s.docker("/"+name))
}

// run runs the program in the test's process, with this clock and idle timeout. It waits until all
// goroutines of the run have ended, and returns those that are left after a deadline.
func (s *faultFixture) run(name string, clock remote.Clock, idle time.Duration) (o outcome, left string) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr, env: s.env, tune: func(o *remote.Options) { o.Clock, o.IdleTimeout = clock, idle }}
	labels := pprof.Labels("run", s.direction+" "+name)
	pprof.Do(s.t.Context(), labels, func(context.Context) { o.code = a.run(s.args(name)) })
	o.stdout, o.stderr = stdout.String(), stderr.String()
	return o, goroutinesOf(s.t, s.direction+" "+name)
}

// goroutinesOf waits until no goroutine with the label of this run is left. After a deadline, it
// returns those that are.
func goroutinesOf(t *testing.T, run string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), endTime)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	mark := fmt.Sprintf("# labels: {%q:%q}", "run", run)
	for {
		var profile bytes.Buffer
		fail.On(t, pprof.Lookup("goroutine").WriteTo(&profile, 1))
		var left []string
		for group := range strings.SplitSeq(profile.String(), "\n\n") {
			if strings.Contains(group, mark) {
				left = append(left, group)
			}
		}
		if len(left) == 0 {
			return ""
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return strings.Join(left, "\n\n")
		}
	}
}

// A skipClock skips most of the time that it is asked to wait. It waits for the rest, because what
// happens outside the program takes real time.
type skipClock struct {
	real time.Duration // real time per second of a wait; at least 50 ms, or the whole wait if it is shorter

	mu      sync.Mutex
	skipped time.Duration
}

func (c *skipClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skipped)
}

func (c *skipClock) Wait(ctx context.Context, d time.Duration) error {
	rest := max(time.Duration(d.Seconds()*float64(c.real)), min(d, 50*time.Millisecond))
	t := time.NewTimer(rest)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped += max(0, d-rest)
	return ctx.Err()
}
