package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/chart/render"
	"github.com/gantry-mirror/gantry/pkg/chart/renderer"
)

// The test binary is gantry-helm if it is called as gantry calls that.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-serve") {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

const chartFile = "-- Chart.yaml --\napiVersion: v2\nname: c\nversion: 1.0.0\n"

// anchors is a text of YAML that has a billion values.
func anchors() string {
	s := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		n := string(rune('0' + i))
		ref := "*a" + n
		s += "a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" + strings.TrimSuffix(strings.Repeat(ref+", ", 10), ", ") + "]\n"
	}
	return s
}

// What a hostile chart does ends with an error about that chart, within the limits, and the next chart is
// rendered.
func TestHostileCharts(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pod := "-- templates/pod.yaml --\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: 'quay.io/org/a:1'}]}}\n"
	for name, test := range map[string]struct {
		chart, values, want string
		memory              int64
		time                time.Duration
	}{
		"recursion":             {chart: "-- templates/a.yaml --\n{{ define \"a\" }}{{ include \"a\" . }}{{ end }}{{ include \"a\" . }}\n", want: "rendering template has a nested reference name"},
		"memory":                {chart: "-- templates/a.yaml --\n{{ range $i := until 1000000000 }}{{ end }}\n", memory: 256 << 20, want: "rendering needs more than 256 MB of memory"},
		"text":                  {chart: "-- templates/a.yaml --\n{{ $s := \"0123456789\" }}{{ range until 60 }}{{ $s = cat $s $s }}{{ end }}\n", memory: 256 << 20, want: "rendering needs more than 256 MB of memory"},
		"time":                  {chart: "-- templates/a.yaml --\n{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}\n", time: 5 * time.Second, want: "rendering takes more than 5s"},
		"anchors in the chart":  {chart: "-- values.yaml --\n" + anchors() + pod, want: "excessive aliasing"},
		"anchors in the values": {chart: pod, values: anchors(), want: "excessive aliasing"},
		"deep values":           {chart: pod, values: "a: " + strings.Repeat("[", 200_000), want: "exceeded max depth"},
		"a panic":               {chart: "-- templates/a.yaml --\n{{ index .Values.x 3 }}\n", want: "a.yaml"},
		"no text":               {chart: "-- templates/a.yaml --\n{{ fail \"set the password\" }}\n", want: "set the password"},
		"not YAML":              {chart: "-- templates/a.yaml --\na: b: c\n", want: "a.yaml"},
		"another Kubernetes":    {chart: "-- templates/a.yaml --\n", values: "", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := renderer.New(self, renderer.Options{Memory: test.memory, Time: test.time})
			t.Cleanup(r.Close)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			_, err := r.Render(ctx, render.Request{Chart: archiveOf(t, chartFile+test.chart), Values: []render.Values{{Name: "v.yaml", Data: []byte(test.values)}}})
			var known *render.Error
			switch {
			case test.want == "" && err == nil:
			case test.want == "" || !errors.As(err, &known) || !strings.Contains(known.Message, test.want):
				t.Errorf("%v, want %q", err, test.want)
			}
			got, err := r.Render(ctx, render.Request{Chart: archiveOf(t, chartFile+pod)})
			if err != nil || len(got.Images) != 1 || got.Images[0].Name != "quay.io/org/a:1" {
				t.Errorf("the next chart: %v, %v", got, err)
			}
		})
	}
}

// The process ends with the context of the one that started it, whatever it is doing.
func TestCanceled(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := renderer.New(self, renderer.Options{})
	t.Cleanup(r.Close)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	endless := archiveOf(t, chartFile+"-- templates/a.yaml --\n{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}\n")
	if _, err := r.Render(ctx, render.Request{Chart: endless}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
