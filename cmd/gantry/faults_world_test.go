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
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// The ways that content goes.
const (
	toRegistry  = "registry to registry"
	toArchive   = "registry to archive"
	fromArchive = "archive to registry"
)

// largeSize is that of the one large layer, in bytes: enough that half of it is
// worth continuing.
const largeSize = 5 << 19

// A storm is a world in which registries misbehave: both ask for tokens, and
// the source has three images. Two share the large layer; the third is an index.
type storm struct {
	*world
	way   string
	large digest.Digest
	// calm is where an undisturbed run of this way brought everything, and disk
	// the archive that is read where there is none to write.
	calm, disk string
	config     string
	// carried are all blobs, each once.
	carried []digest.Digest
}

// newStorms makes a storm for each way. They have nothing in common but the
// environment, so that they can go on at the same time.
func newStorms(t *testing.T, ways ...string) []*storm {
	t.Helper()
	var storms []*storm
	var conf strings.Builder
	auths := map[string]json.RawMessage{}
	for _, way := range ways {
		w := &world{t: t, dir: registrytest.TempDir(t)}
		options := registrytest.Options{Auth: registrytest.TokenAuth, TokenLifetime: time.Hour}
		w.source, w.mirror = registrytest.Start(t, options), registrytest.Start(t, options)
		for _, s := range []*registrytest.Server{w.source, w.mirror} {
			fmt.Fprintf(&conf, "[[registry]]\nlocation = %q\ninsecure = true\n\n", s.Host)
			text, err := os.ReadFile(s.AuthFile)
			if err != nil {
				t.Fatal(err)
			}
			var file struct{ Auths map[string]json.RawMessage }
			if err := json.Unmarshal(text, &file); err != nil {
				t.Fatal(err)
			}
			auths[s.Host] = file.Auths[s.Host]
		}
		storms = append(storms, &storm{world: w, way: way})
	}
	text, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range storms {
		s.surroundings(s.write("registries.conf", conf.String()), s.write("auth.json", string(text)))
		s.fill()
		s.calmDown()
		for _, r := range s.source.Log() {
			if r.Kind() == "GET blob" && !slices.Contains(s.carried, r.Digest()) {
				s.carried = append(s.carried, r.Digest())
			}
		}
	}
	return storms
}

// fill puts the images into the source.
func (s *storm) fill() {
	s.t.Helper()
	push := func(repository string, content registrytest.Content, err error) {
		s.t.Helper()
		if err == nil {
			_, err = s.source.Client().Push(s.t.Context(), repository, "v1", content)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	large, err := registrytest.SizedImage("large", largeSize, 40_000)
	push("org/large", large, err)
	twin, err := registrytest.SizedImage("large", largeSize)
	push("org/twin", twin, err)
	multi, err := smallIndex("multi")
	push("org/multi", multi, err)
	var layers []v1.Layer
	if layers, err = large.Layers(); err != nil {
		s.t.Fatal(err)
	}
	h, err := layers[0].Digest()
	if err != nil {
		s.t.Fatal(err)
	}
	s.large = digest.Digest(h.String())
	stanza := "  additionalImages:\n"
	for _, name := range []string{"large", "twin", "multi"} {
		stanza += fmt.Sprintf("  - name: %s/org/%s:v1\n", s.source.Host, name)
	}
	s.config = s.world.config("imageset.yaml", stanza)
}

// smallIndex is an index of two images of some kilobytes.
func smallIndex(name string) (v1.ImageIndex, error) {
	var index v1.ImageIndex = empty.Index
	for _, arch := range []string{"amd64", "arm64"} {
		img, err := registrytest.SizedImage(name+" "+arch, 20_000)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: "linux", Architecture: arch},
		}})
	}
	return index, nil
}

// calmDown brings everything to where faults are compared with.
func (s *storm) calmDown() {
	s.t.Helper()
	s.disk, s.calm = s.path("calm-disk"), "calm"
	if s.way == toRegistry {
		s.must("mirror", "-c", s.config, s.docker("/calm"), "--workspace", s.path("calm-workspace"))
		return
	}
	s.must("mirror", "-c", s.config, "file://"+s.disk, "--workspace", s.path("calm-workspace"))
	if s.way == toArchive {
		s.calm = s.disk
		return
	}
	s.must("mirror", "--from", "file://"+s.disk, s.docker("/calm"), "--workspace", s.path("calm-workspace"))
}

// to is where a run that is called so brings everything: the prefix of the
// repositories, or the archive's folder.
func (s *storm) to(name string) string {
	if s.way == toArchive {
		return s.path("disk-" + name)
	}
	return name
}

// args are those of a run that is called so; another run of that name goes on
// with it.
func (s *storm) args(name string) []string {
	args := []string{"mirror", "--workspace", s.path("workspace-" + name)}
	switch s.way {
	case toArchive:
		return append(args, "-c", s.config, "file://"+s.to(name))
	case fromArchive:
		return append(args, "--from", "file://"+s.disk, s.docker("/"+name))
	}
	return append(args, "-c", s.config, s.docker("/"+name))
}

// run runs the program in the test's own process, with this clock and patience.
// It returns when nothing of the run is left, or after the deadline what is.
func (s *storm) run(name string, clock remote.Clock, idle time.Duration) (o outcome, left string) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr, env: s.env, tune: func(o *remote.Options) { o.Clock, o.IdleTimeout = clock, idle }}
	labels := pprof.Labels("run", s.way+" "+name)
	pprof.Do(s.t.Context(), labels, func(context.Context) { o.code = a.run(s.args(name)) })
	o.stdout, o.stderr = stdout.String(), stderr.String()
	return o, goroutinesOf(s.t, s.way+" "+name)
}

// goroutinesOf waits until no goroutine is left that came of the run with this
// label, and returns those that stay.
func goroutinesOf(t *testing.T, run string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	mark := fmt.Sprintf("# labels: {%q:%q}", "run", run)
	for {
		var profile bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
			t.Fatal(err)
		}
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

// A leapClock passes over the time that it is asked to wait for, but for a part
// of it: what happens outside of the program meanwhile takes real time.
type leapClock struct {
	real time.Duration // of a second; at least 50 ms of a wait, or all of it

	mu      sync.Mutex
	leapt   time.Duration
	longest time.Duration
}

func (c *leapClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.leapt)
}

func (c *leapClock) Wait(ctx context.Context, d time.Duration) error {
	rest := max(time.Duration(d.Seconds()*float64(c.real)), min(d, 50*time.Millisecond))
	t := time.NewTimer(rest)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leapt += max(0, d-rest)
	c.longest = max(c.longest, d)
	return ctx.Err()
}
