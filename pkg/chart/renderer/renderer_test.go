package renderer_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/chart/charttest"
	"github.com/gantry-mirror/gantry/pkg/chart/render"
	"github.com/gantry-mirror/gantry/pkg/chart/renderer"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// The test binary is the renderer if it is called as one.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-serve") {
		if len(os.Environ()) > 1 && os.Getenv("SYSTEMROOT") == "" {
			os.Exit(70) // PATH alone is set
		}
		os.Exit(charttest.Serve(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func newRenderer(t *testing.T, o renderer.Options) *renderer.Renderer {
	t.Helper()
	self, err := os.Executable()
	fail.On(t, err)
	r := renderer.New(self, o)
	t.Cleanup(r.Close)
	return r
}

// A chart that makes the process misbehave is an error about that chart; the next one is rendered by
// another process. The environment with its secrets is not passed on.
func TestRender(t *testing.T) {
	t.Parallel()
	good := charttest.Chart("web", "1.0.0", "quay.io/org/web:TAG")
	for name, test := range map[string]struct {
		chart string
		o     renderer.Options
		kind  string // of a render.Error
		want  string
	}{
		"an error":         {chart: "fail", kind: render.ChartError, want: "set the password"},
		"a crash":          {chart: "crash", want: "it ended with status 2: panic: a crash"},
		"memory":           {chart: "memory", o: renderer.Options{Memory: 64 << 20}, kind: render.ChartError, want: "rendering needs more than 64 MB of memory"},
		"an endless text":  {chart: "babble", kind: render.ChartError, want: "too much to render"},
		"another version":  {chart: "old", want: "is of another version of gantry"},
		"what is no chart": {kind: render.ChartError, want: "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRenderer(t, test.o)
			var bad []byte
			if test.chart != "" {
				bad = charttest.Chart("bad", "1.0.0", test.chart)
			}
			_, err := r.Render(t.Context(), render.Request{Chart: bad})
			var known *render.Error
			if err == nil || errors.As(err, &known) != (test.kind != "") || known != nil && known.Kind != test.kind || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s %q", err, test.kind, test.want)
			}
			got, err := r.Render(t.Context(), render.Request{Chart: good, Values: []render.Values{{Data: []byte(`{"tag": "v1"}`)}}})
			if err != nil || len(got.Images) != 1 || got.Images[0].Name != "quay.io/org/web:v1" {
				t.Errorf("the next chart: %v, %v", got, err)
			}
		})
	}
}

// The process is killed when the context ends, and when it takes too long.
func TestHangs(t *testing.T) {
	t.Parallel()
	hang := render.Request{Chart: charttest.Chart("bad", "1.0.0", "hang")}
	r := newRenderer(t, renderer.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := r.Render(ctx, hang); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := r.Render(ctx, hang); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	var known *render.Error
	late := newRenderer(t, renderer.Options{Time: 50*time.Millisecond - renderer.SpareTime})
	if _, err := late.Render(t.Context(), hang); !errors.As(err, &known) || !strings.Contains(err.Error(), "rendering takes more than") {
		t.Error(err)
	}
}

// The program is the one that the user names, or beside gantry, or in PATH. Without one, the error says
// how to get it.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	_, err := renderer.Find("")
	var missing *renderer.MissingError
	if !errors.As(err, &missing) || advice.KindOf(err) != advice.Input || !strings.Contains(advice.Hint(err), "make build") {
		t.Errorf("%v; %s", err, advice.Hint(err))
	}
	if _, err := renderer.Find(filepath.Join(dir, "x")); !errors.As(err, &missing) {
		t.Error(err)
	}
	path := filepath.Join(dir, renderer.Program)
	fail.On(t, os.WriteFile(path, nil, 0o700))
	for _, override := range []string{"", path} {
		if got, err := renderer.Find(override); got != path || err != nil {
			t.Errorf("%q: %q, %v", override, got, err)
		}
	}
	broken := renderer.New(path, renderer.Options{})
	defer broken.Close()
	if _, err := broken.Render(t.Context(), render.Request{}); !errors.As(err, &missing) {
		t.Error(err)
	}
}
