package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/chart/charttest"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// asProgram is the environment variable that makes the test binary run as the program.
const asProgram = "GANTRY_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if file := os.Getenv(clockFile); file != "" && os.Getenv(asProgram) != "" {
		os.Exit((&app{stdout: os.Stdout, stderr: os.Stderr, tuneWindow: readsClock(file)}).run(os.Args[1:]))
	}
	if os.Getenv(asProgram) != "" {
		main()
	}
	if slices.Contains(os.Args, "-serve") { // as gantry calls the renderer of charts
		os.Exit(charttest.Serve(os.Stdin, os.Stdout, os.Stderr))
	}
	prepareNetwork()
	// With the race detector, programs sleep for a second when they exit, to detect races in
	// goroutines that still run. Gantry waits for all its goroutines.
	if race := os.Getenv("GORACE"); !strings.Contains(race, "atexit_sleep_ms") {
		_ = os.Setenv("GORACE", strings.TrimSpace(race+" atexit_sleep_ms=10"))
	}
	if os.Getenv(wrongClock) != "" { // it has the state of the test that runs it
		m.Run()
		return
	}
	// The state of the user who runs the tests is neither read nor changed.
	userState, err := os.MkdirTemp("", "gantry-state")
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", userState)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	mirrortest.Run(m) // its result becomes the exit status
	_ = os.RemoveAll(userState)
}

// short reports whether the test that calls it takes fewer samples.
func short(t *testing.T) bool {
	t.Helper()
	return mirrortest.Short(t)
}

// long skips a test that make test leaves out.
func long(t *testing.T) {
	t.Helper()
	mirrortest.Long(t)
}

// notAgain skips a test that is the same in make test.
func notAgain(t *testing.T) {
	t.Helper()
	mirrortest.NotAgain(t)
}

// The repositories of the sample's catalogs in a mirror.
const (
	acme      = "acme/operator-index"
	community = "community/curated-index"
)

// fixture has a source registry with the sample in it, a mirror, and a folder with the configuration
// for both. The registries are real.
// endTime limits how long tests wait for the program, for example until it ends after a signal. It ends
// within two seconds (TestInterrupt), but machines that run tests are slow.
const endTime = 30 * time.Second

type fixture struct {
	t      *testing.T
	dir    string
	source *registrytest.Server
	mirror *registrytest.Server
	sample *registrytest.Sample
	// env is the program's environment. If nil, it is the environment of the tests.
	env map[string]string
	// tune, if set, changes the options of each client.
	tune func(*remote.Options)
	// ahead is how far the clock of the program is ahead of the one of this host.
	ahead time.Duration
}

// surroundings sets the environment to one with only a registries.conf and, unless authFile is "",
// this file of credentials.
func (w *fixture) surroundings(registriesConf, authFile string) {
	w.t.Helper()
	w.env = map[string]string{
		"CONTAINERS_REGISTRIES_CONF": registriesConf, "REGISTRY_AUTH_FILE": authFile,
		"HOME": w.t.TempDir(), "XDG_RUNTIME_DIR": "", "XDG_CONFIG_HOME": "", "DOCKER_CONFIG": "",
	}
}

// process returns a command that runs the program in a separate process, with the fixture's
// environment.
func (w *fixture) process(ctx context.Context, args ...string) *exec.Cmd {
	w.t.Helper()
	program, err := os.Executable()
	fail.On(w.t, err)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = w.environ()
	return cmd
}

func withoutResponse(do func()) registrytest.Action { return mirrortest.WithoutResponse(do) }

// once returns an action that calls do before the first request.
func once(do func()) registrytest.Action { return mirrortest.Once(do) }

// site returns the fixture for the helpers of mirrortest.
func (w *fixture) site() *mirrortest.Site {
	return &mirrortest.Site{T: w.t, Dir: w.dir, Source: w.source, Mirror: w.mirror, Sample: w.sample, Vars: w.env}
}

// environ returns the environment of a separate process.
func (w *fixture) environ() []string {
	env := append(os.Environ(), asProgram+"=1")
	env = append(env, elements.Map(sortedKeys(w.env), func(name string) string { return name + "=" + w.env[name] })...)
	return env
}

func newFixture(t *testing.T, mirror registrytest.Options) *fixture {
	t.Helper()
	mirrortest.NotAgain(t)
	source, sample := mirrortest.FullSource(t)
	w := &fixture{
		t: t, dir: registrytest.TempDir(t), sample: sample,
		source: source, mirror: registrytest.Start(t, mirror),
	}
	fail.On(t, sample.WriteConfig(w.dir, w.source.Host, w.source.Host))
	w.surroundings(w.path("registries.conf"), "")
	return w
}

func (w *fixture) path(name string) string { return filepath.Join(w.dir, name) }

// write writes a file to the folder and returns its path.
func (w *fixture) write(name, text string) string {
	w.t.Helper()
	fail.On(w.t, os.WriteFile(w.path(name), []byte(text), 0o600))
	return w.path(name)
}

// config writes a configuration with this mirror stanza.
func (w *fixture) config(name, stanza string) string {
	return w.write(name, "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n"+stanza)
}

func (w *fixture) docker(prefix string) string { return "docker://" + w.mirror.Host + prefix }

// outcome is the output and the exit status of a command.
type outcome struct {
	stdout, stderr string
	code           int
}

// gantry runs the program like main, in a workspace of the fixture.
func (w *fixture) gantry(args ...string) outcome {
	w.t.Helper()
	if args[0] != "version" && !strings.Contains(strings.Join(args, " "), "--workspace") {
		args = append(args, "--workspace", w.path("workspace"))
	}
	var stdout, stderr bytes.Buffer
	if w.ahead != 0 {
		return w.gantryAhead(args)
	}
	code := (&app{stdout: &stdout, stderr: &stderr, env: w.env, tune: w.tune}).run(args)
	w.checkOutput(args, stdout.Bytes())
	return outcome{stdout.String(), stderr.String(), code}
}

// checkOutput checks JSON that a command printed.
func (w *fixture) checkOutput(args []string, stdout []byte) {
	w.t.Helper()
	if err := checkOutput(args, stdout); err != nil {
		w.t.Error(err)
	}
}

// must runs the program and requires success.
func (w *fixture) must(args ...string) outcome {
	w.t.Helper()
	o := w.gantry(args...)
	if o.code != exitOK {
		w.t.Fatalf("gantry %s ended with %d\n%s%s", strings.Join(args, " "), o.code, o.stdout, o.stderr)
	}
	return o
}

// refuse runs the program and checks its exit code, and that stderr contains these words.
func (w *fixture) refuse(code int, words []string, args ...string) {
	w.t.Helper()
	o := w.gantry(args...)
	if o.code != code {
		w.t.Errorf("gantry %s ended with %d, want %d\n%s%s", strings.Join(args, " "), o.code, code, o.stdout, o.stderr)
	}
	for _, word := range words {
		if !strings.Contains(o.stderr, word) {
			w.t.Errorf("gantry %s does not print %q:\n%s", strings.Join(args, " "), word, o.stderr)
		}
	}
}

// verify pulls a catalog of the mirror and all its images, with a client that shares no code with
// Gantry, and checks the number of bundles.
func (w *fixture) verify(prefix, repository string, bundles int) registrytest.Verified {
	w.t.Helper()
	place := func(path string) string { return strings.TrimPrefix(prefix+"/"+path, "/") }
	v, err := w.mirror.Client().VerifyCatalog(w.t.Context(), place(repository), "v4.20", place)
	if err != nil {
		w.t.Fatalf("the mirror is not complete: %v", err)
	}
	if len(v.Bundles) != bundles {
		w.t.Errorf("catalog %s has %d bundles, want %d: %v", repository, len(v.Bundles), bundles, v.Bundles)
	}
	return v
}
