package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

const (
	// largeSize is enough for the program to continue a broken copy of the blob.
	largeSize = 1 << 20
	// endTime limits how long the program may take to end after a signal, on a slow machine.
	endTime = 30 * time.Second
)

// A site is where the cells of one workflow run.
type site struct {
	t                       *testing.T
	program, dir            string
	source, mirror          *rt.Server
	variables               []string // of the environment
	large, changed          digest.Digest
	first, second, together string // configurations
	served                  string // with the images of an archive that the program serves
	process                 atomic.Pointer[os.Process]
}

func newSite(t *testing.T, program string, options rt.Options, serves bool) *site {
	t.Helper()
	return newSiteIn(t, rt.TempDir(t), program, options, serves)
}

func newSiteIn(t *testing.T, dir, program string, options rt.Options, serves bool) *site {
	t.Helper()
	s := &site{t: t, program: program, dir: dir}
	s.source, s.mirror = rt.Start(t, options), rt.Start(t, options)
	s.fill()
	s.surroundings(s.source, s.mirror)
	if serves {
		s.serve()
	}
	return s
}

// surroundings writes what containers' tools read of registries, and sets the environment.
func (s *site) surroundings(servers ...*rt.Server) {
	s.t.Helper()
	var conf strings.Builder
	auths := map[string]json.RawMessage{}
	for _, r := range servers {
		fmt.Fprintf(&conf, "[[registry]]\nlocation = %q\ninsecure = true\n\n", r.Host)
		if r.AuthFile == "" {
			continue
		}
		text, err := os.ReadFile(r.AuthFile)
		fail.On(s.t, err)
		var file struct{ Auths map[string]json.RawMessage }
		fail.On(s.t, json.Unmarshal(text, &file))
		auths[r.Host] = file.Auths[r.Host]
	}
	text, err := json.Marshal(map[string]any{"auths": auths})
	fail.On(s.t, err)
	s.variables = []string{
		"CONTAINERS_REGISTRIES_CONF=" + s.write("registries.conf", conf.String()), "REGISTRY_AUTH_FILE=" + s.write("auth.json", string(text)),
		"HOME=" + s.folder("home"), "PATH=" + os.Getenv("PATH"),
	}
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) write(name, text string) string {
	s.t.Helper()
	fail.On(s.t, os.WriteFile(s.path(name), []byte(text), 0o600))
	return s.path(name)
}

func (s *site) folder(name string) string {
	s.t.Helper()
	fail.On(s.t, os.MkdirAll(s.path(name), 0o755))
	return s.path(name)
}

// fill pushes the images to the source, and writes the configurations.
func (s *site) fill() {
	s.t.Helper()
	push := func(repository, tag string, content rt.Content, err error) {
		s.t.Helper()
		if err == nil {
			_, err = s.source.Client().Push(s.t.Context(), repository, tag, content)
		}
		fail.On(s.t, err)
	}
	last := func(img v1.Image) digest.Digest {
		s.t.Helper()
		layers, err := img.Layers()
		fail.On(s.t, err)
		h, err := layers[len(layers)-1].Digest()
		fail.On(s.t, err)
		return digest.Digest(h.String())
	}
	large, err := rt.SizedImage("large", 40_000, largeSize)
	push("org/large", "v1", large, err)
	s.large = last(large)
	multi, err := rt.Index("multi")
	push("org/multi", "v1", multi, err)
	for version := range 2 {
		app, err := rt.FilesImage(v1.Platform{OS: "linux", Architecture: "amd64"}, v1.Config{}, []rt.File{{Name: "server", Data: server(version), Mode: 0o755}})
		push("org/app", fmt.Sprint("v", version+1), app, err)
		s.changed = last(app)
	}
	s.first = s.config("first.yaml", s.source.Host, "large:v1", "multi:v1", "app:v1")
	s.second = s.config("second.yaml", s.source.Host, "large:v1", "multi:v1", "app:v2")
	s.together = s.config("both.yaml", s.source.Host, "large:v1", "multi:v1", "app:v1", "app:v2")
}

// server returns a program that changes a little with each version.
func server(version int) []byte {
	r := rand.New(rand.NewPCG(1, 1))
	var b bytes.Buffer
	for i := 0; b.Len() < 700<<10; i++ {
		fmt.Fprintf(&b, "%x %d\n", r.Uint64(), i)
		if i%500 == 250 {
			fmt.Fprintf(&b, "version %d\n", version)
		}
	}
	return b.Bytes()
}

func (s *site) config(name, host string, images ...string) string {
	s.t.Helper()
	text := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  additionalImages:\n"
	for _, image := range images {
		text += "  - name: " + host + "/org/" + image + "\n"
	}
	return s.write(name, text)
}

// serve makes the source one that serves an archive with the program.
func (s *site) serve() {
	s.t.Helper()
	c := &cell{site: s, t: s.t, name: "served"}
	if o := c.run("mirror -c FIRST file://DISK-NAME --workspace WORK-NAME", 0); o.code != 0 {
		s.t.Fatalf("ended with %d:\n%s", o.code, o.output)
	}
	cmd := exec.CommandContext(s.t.Context(), s.program, "archive", "serve", "file://"+s.path("disk-served"), "--listen", "127.0.0.1:0")
	cmd.Env = append(s.variables, "TMPDIR="+s.folder("temporary-serve"))
	s.t.Cleanup(func() {
		if left := s.files("temporary-serve"); len(left) > 0 {
			s.t.Errorf("serve left %q", left)
		}
	})
	s.source = mirrortest.ServeArchive(s.t, cmd)
	s.surroundings(s.source, s.mirror)
	s.served = s.config("served.yaml", s.source.Host, "large:v1", "multi:v1", "app:v1")
}

// files returns the names of all files in a folder and below.
func (s *site) files(name string) (all []string) {
	s.t.Helper()
	err := filepath.WalkDir(s.path(name), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, strings.TrimPrefix(path, s.dir))
		}
		return err
	})
	if !errors.Is(err, os.ErrNotExist) {
		fail.On(s.t, err)
	}
	return all
}

// An outcome is how a command ended.
type outcome struct {
	code   int
	output string
}

// run runs a command of a workflow. limit is for the files that it writes, in KiB.
func (c *cell) run(command string, limit int) outcome {
	c.t.Helper()
	delay := "10ms"
	if c.fault.slow {
		delay = "1s"
	}
	args := strings.Fields(c.replace(command))
	args = append(args, "--retry-times", "3", "--retry-delay", delay, "--silent-timeout", "3s", "--progress", "none")
	name := c.program
	if limit > 0 {
		args = append([]string{"-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, limit), name}, args...)
		name = "bash"
	}
	cmd := exec.CommandContext(c.t.Context(), name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = append(c.variables, "TMPDIR="+c.folder("temporary-"+c.name))
	wait := c.start(cmd)
	c.process.Store(cmd.Process)
	timer := time.AfterFunc(4*endTime, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) }) // prints the goroutines
	wait()
	timer.Stop()
	c.process.Store(nil)
	return outcome{cmd.ProcessState.ExitCode(), out.String()}
}

// start starts a command, and returns what waits for its end.
func (c *cell) start(cmd *exec.Cmd) (wait func()) {
	c.t.Helper()
	if c.watch != nil {
		return c.watch(cmd)
	}
	fail.On(c.t, cmd.Start())
	return func() { _ = cmd.Wait() } // the exit status says more
}

// replace puts the cell's names and the site's addresses into a command or a pattern.
func (c *cell) replace(text string) string {
	return strings.NewReplacer(
		"DISK-NAME", c.disk(), "WORK-NAME", c.path("work-"+c.name), "SITE-NAME", c.path("site-"+c.name), "NAME", c.name,
		"MIRROR", "docker://"+c.mirror.Host, "FIRST", c.first, "SECOND", c.second, "BOTH", c.together, "SERVED", c.served,
	).Replace(text)
}

func (c *cell) disk() string { return c.path("disk-" + c.name) }
