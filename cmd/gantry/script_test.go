package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// updateScripts is the environment variable that makes the tests replace the expected output in the
// scripts with the current output.
const updateScripts = "GANTRY_TEST_UPDATE_SCRIPTS"

// The hosts in the scripts. They are real registries behind a proxy, so that the output is the same
// in each run.
const (
	scriptMirror = "mirror.example.com:5000"
	scriptSource = "source.example.com"
	// scriptUpdates is the host of the update service, graph data and signatures of the small
	// releases of pkg/platform/releasetest.
	scriptUpdates = "updates.example.com"
	// scriptFolder is printed in place of the folder of a script.
	scriptFolder = "/home/ann"
	// scriptCharts is the host of a chart repository.
	scriptCharts = "charts.example.com"
)

// TestScripts runs the transcripts in testdata/script, which show what the
// program does and prints. In addition to the commands of testscript, there are:
//
//	gantry ...               run the program
//	status N gantry ...      run the program and check for exit status N
//	holds PREFIX             list the tags in the mirror below PREFIX, as path:tag,
//	                         with 12 digits of a digest, or print "nothing". The tags
//	                         of records have no digits.
//	pull PREFIX CATALOG:TAG  pull a catalog of the mirror and all its images, with a
//	                         client that shares no code with Gantry, and list them
//
// All scripts share one source with the sample, one update service, and one mirror,
// in which each script has a prefix named after itself.
func TestScripts(t *testing.T) {
	sample, err := registrytest.NewSmallSample()
	fail.On(t, err)
	source, mirror := registrytest.Start(t, registrytest.Options{}), registrytest.Start(t, registrytest.Options{})
	fail.On(t, sample.Push(t.Context(), source.Client()))
	releases := releasetest.Small()
	releases.Store = "http://" + scriptUpdates + releasetest.SignaturesPath
	_, service := releasetest.Serve(t, releases, registrytest.Options{})
	proxy := httptest.NewServer(proxyTo(map[string]string{scriptMirror: mirror.Host, scriptSource: source.Host, scriptUpdates: service.Host, scriptCharts: startCharts(t)}))
	t.Cleanup(proxy.Close)
	etc := t.TempDir()
	fail.On(t, sample.WriteConfig(etc, scriptSource, scriptSource, scriptMirror))
	renderer, err := os.Executable() // TestMain has a renderer
	fail.On(t, err)
	scripts, err := filepath.Abs("../../testdata/script")
	fail.On(t, err)
	w := &scriptFixture{mirror: mirror}
	testscript.Run(t, testscript.Params{
		Dir:                 scripts,
		UpdateScripts:       os.Getenv(updateScripts) != "",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("CONTAINERS_REGISTRIES_CONF", filepath.Join(etc, "registries.conf"))
			env.Setenv(updates.UpdateURLVariable, "http://"+scriptUpdates+releasetest.GraphPath)
			env.Setenv("HTTP_PROXY", proxy.URL)
			env.Setenv("RENDERER", renderer)
			env.Setenv("HTTPS_PROXY", proxy.URL)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"gantry": w.gantry, "status": w.wantStatus, "holds": w.holds, "pull": w.pull,
		},
	})
}

// proxyTo returns a proxy for hosts that do not exist. It does not make tunnels, so clients find no
// TLS, and it refuses other hosts.
func proxyTo(hosts map[string]string) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL = &url.URL{Scheme: "http", Host: hosts[r.In.URL.Host], Path: r.In.URL.Path, RawPath: r.In.URL.RawPath, RawQuery: r.In.URL.RawQuery}
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
}

// scriptFixture is what the commands of the scripts work with.
type scriptFixture struct {
	mirror *registrytest.Server
	// folder is held by the command that runs, because its working directory is the process's.
	folder sync.Mutex
}

// gantry implements the command gantry.
func (w *scriptFixture) gantry(ts *testscript.TestScript, neg bool, args []string) {
	if got := w.run(ts, args); (got != exitOK) != neg {
		ts.Fatalf("gantry ended with %d", got)
	}
}

// wantStatus implements the command status.
func (w *scriptFixture) wantStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != "gantry" {
		ts.Fatalf("usage: status N gantry [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := w.run(ts, args[2:]); got != want {
		ts.Fatalf("ended with %d, want %d", got, want)
	}
}

// run runs the program in the folder and the environment of a script. It does not start a process,
// because with the race detector that takes longer than most commands.
func (w *scriptFixture) run(ts *testscript.TestScript, args []string) int {
	env := map[string]string{}
	for _, name := range []string{"HOME", "CONTAINERS_REGISTRIES_CONF", updates.UpdateURLVariable, "HTTP_PROXY", "HTTPS_PROXY"} {
		env[name] = ts.Getenv(name)
	}
	w.folder.Lock()
	defer w.folder.Unlock()
	back, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	dir, err := os.Getwd()
	ts.Check(err)
	var stdout, stderr bytes.Buffer
	code := (&app{stdout: &stdout, stderr: &stderr, env: env}).run(args)
	ts.Check(os.Chdir(back))
	for w, printed := range map[io.Writer]string{ts.Stdout(): stdout.String(), ts.Stderr(): stderr.String()} {
		_, err = io.WriteString(w, strings.ReplaceAll(printed, dir, scriptFolder))
		ts.Check(err)
	}
	return code
}

// holds implements the command holds. The lease of the mirror is not listed.
func (w *scriptFixture) holds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: holds PREFIX")
	}
	all, err := w.mirror.Repositories(args[0])
	ts.Check(err)
	slices.SortFunc(all, func(a, b registrytest.Repository) int { // by folders
		return slices.Compare(strings.Split(a.Name, "/"), strings.Split(b.Name, "/"))
	})
	var lines []string
	for _, r := range all {
		if strings.HasSuffix(r.Name, "gantry-lease") {
			continue
		}
		for _, tag := range slices.Sorted(maps.Keys(r.Tags)) {
			if hex, ok := strings.CutSuffix(tag, ".image"); ok && strings.HasPrefix(tag, "sha256-") && len(hex) == len("sha256-")+64 {
				tag = tag[:len("sha256-")+12] + "...image"
			}
			if at := strings.LastIndexByte(tag, '.'); strings.HasSuffix(r.Name, "image-sets") && len(tag)-at == 13 {
				tag = tag[:at] + "..." // digits of a digest
			}
			lines = append(lines, r.Name+":"+tag)
		}
	}
	if len(lines) == 0 {
		lines = []string{"nothing"}
	}
	_, err = fmt.Fprintln(ts.Stdout(), strings.Join(lines, "\n"))
	ts.Check(err)
}

// pull implements the command pull.
func (w *scriptFixture) pull(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: pull PREFIX CATALOG:TAG")
	}
	place := func(path string) string { return args[0] + "/" + path }
	repository, tag, _ := strings.Cut(args[1], ":")
	v, err := w.mirror.Client().VerifyCatalog(context.Background(), place(repository), tag, place)
	ts.Check(err)
	_, err = fmt.Fprintf(ts.Stdout(), "%d images\n%s\n", len(v.Images), strings.Join(v.Bundles, "\n"))
	ts.Check(err)
}
