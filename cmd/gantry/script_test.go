package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/releasetest"
)

// updateScripts, where it is set, has the expected output in the scripts
// replaced by what is printed now.
const updateScripts = "GANTRY_TEST_UPDATE_SCRIPTS"

// The hosts of the scripts. They are real registries behind a proxy, so that
// what is printed is the same in each run.
const (
	scriptMirror = "mirror.example.com:5000"
	scriptSource = "source.example.com"
	// scriptUpdates is where the update service, graph data and signatures of the
	// small releases of pkg/releasetest are.
	scriptUpdates = "updates.example.com"
)

// TestScripts runs the transcripts in testdata/script, which show what the
// program does and says. Beside the commands that testscript has, there are:
//
//	status N gantry ...      run the program and want exit status N
//	holds PREFIX             list what the mirror has below PREFIX, as path:tag,
//	                         with 12 digits of a digest, or "nothing"
//	pull PREFIX CATALOG:TAG  pull a catalog of the mirror and all that it names,
//	                         with nothing of Gantry's own, and say what came
//
// All scripts share one source, which has the sample, one update service, and one
// mirror, in which each has a prefix named after itself.
func TestScripts(t *testing.T) {
	sample, err := registrytest.NewSample()
	if err != nil {
		t.Fatal(err)
	}
	source, mirror := registrytest.Start(t, registrytest.Options{}), registrytest.Start(t, registrytest.Options{})
	if err := sample.Push(t.Context(), source.Client()); err != nil {
		t.Fatal(err)
	}
	releases := releasetest.Small()
	releases.Store = "http://" + scriptUpdates + releasetest.SignaturesPath
	_, updates := releasetest.Serve(t, releases, registrytest.Options{})
	proxy := httptest.NewServer(proxyTo(map[string]string{scriptMirror: mirror.Host, scriptSource: source.Host, scriptUpdates: updates.Host}))
	t.Cleanup(proxy.Close)
	etc, bin := t.TempDir(), t.TempDir()
	if err := sample.WriteConfig(etc, scriptSource, scriptSource, scriptMirror); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(bin, "gantry")); err != nil {
		t.Fatal(err)
	}
	m := scriptWorld{mirror}
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		UpdateScripts:       os.Getenv(updateScripts) != "",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv(asProgram, "1")
			env.Setenv("CONTAINERS_REGISTRIES_CONF", filepath.Join(etc, "registries.conf"))
			env.Setenv(updateURLVariable, "http://"+scriptUpdates+releasetest.GraphPath)
			env.Setenv("HTTP_PROXY", proxy.URL)
			env.Setenv("HTTPS_PROXY", proxy.URL)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": wantStatus, "holds": m.holds, "pull": m.pull,
		},
	})
}

// proxyTo is a proxy for hosts that do not exist. It makes no tunnels, so that
// clients find no TLS there, and knows no other host.
func proxyTo(hosts map[string]string) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL = &url.URL{Scheme: "http", Host: hosts[r.In.URL.Host], Path: r.In.URL.Path, RawPath: r.In.URL.RawPath, RawQuery: r.In.URL.RawQuery}
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
}

// wantStatus is the command status.
func wantStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("ended with %d, want %d", got, want)
	}
}

// scriptWorld is what commands of scripts look at.
type scriptWorld struct{ mirror *registrytest.Server }

// holds is the command of that name.
func (w scriptWorld) holds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: holds PREFIX")
	}
	var all struct{ Repositories []string }
	ts.Check(w.get("_catalog?n=1000&last="+args[0], &all)) // behind it in the alphabet
	var lines []string
	for _, repository := range all.Repositories {
		if !strings.HasPrefix(repository, args[0]+"/") {
			continue
		}
		var tagged struct{ Tags []string }
		ts.Check(w.get(repository+"/tags/list", &tagged))
		slices.Sort(tagged.Tags)
		for _, tag := range tagged.Tags {
			if len(tag) == len("sha256-")+64 {
				tag = tag[:len("sha256-")+12] + "..."
			}
			lines = append(lines, repository+":"+tag)
		}
	}
	if len(lines) == 0 {
		lines = []string{"nothing"}
	}
	_, err := fmt.Fprintln(ts.Stdout(), strings.Join(lines, "\n"))
	ts.Check(err)
}

// get reads a JSON answer of the mirror.
func (w scriptWorld) get(path string, into any) error {
	resp, err := http.Get("http://" + w.mirror.Host + "/v2/" + path)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	return json.Unmarshal(text, into)
}

// pull is the command of that name.
func (w scriptWorld) pull(ts *testscript.TestScript, neg bool, args []string) {
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
