package env

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/limits"
)

// newEnv returns an Env with these variables, in which nothing of the user is read, and the warnings.
func newEnv(t *testing.T, r Registries, vars map[string]string) (*Env, *[]string) {
	t.Helper()
	var warned []string
	e := &Env{
		Registries: r, Home: t.TempDir(), Getenv: func(name string) string { return vars[name] },
		Warn: func(text string) { warned = append(warned, text) },
	}
	t.Cleanup(e.Close)
	return e, &warned
}

func write(t *testing.T, file, text string) string {
	t.Helper()
	fail.On(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)))
	return file
}

// TestRegistriesRefused checks that values that are probably mistakes are refused before a request, and named.
func TestRegistriesRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bad := write(t, filepath.Join(dir, "bad"), "{")
	for want, r := range map[string]Registries{
		"Options.ParallelImages 101":         {ParallelImages: 101},
		"Options.ParallelLayers -1":          {ParallelImages: 1, ParallelLayers: -1},
		"Options.Rate":                       {Rate: -1},
		"Options.SilentTimeout 1ms":          {SilentTimeout: time.Millisecond},
		"Options.SilentTimeout 2h0m0s":       {SilentTimeout: 2 * time.Hour},
		"Options.RetryTimes 1001":            {RetryTimes: 1001},
		"Options.RetryDelay -1s":             {RetryDelay: -time.Second},
		"Options.RetryDelay 1h0m1s":          {RetryDelay: time.Hour + time.Second},
		"absent.yaml":                        {Limits: filepath.Join(dir, "absent.yaml")},
		"Options.AuthFile":                   {AuthFile: bad},
		"Options.Source.AuthFile":            {Source: Side{AuthFile: filepath.Join(dir, "absent")}},
		filepath.Join(dir, "no-such-folder"): {CertDir: filepath.Join(dir, "no-such-folder")},
	} {
		e, _ := newEnv(t, r, nil)
		if _, err := e.Client(remote.Source); advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	e, _ := newEnv(t, Registries{Destination: Side{AuthFile: bad}}, nil)
	if _, err := e.Client(remote.Source); err != nil {
		t.Errorf("the file of the destination is not for the source: %v", err)
	}
	if _, err := e.Client(remote.Destination); err == nil || !strings.Contains(err.Error(), "Options.Destination.AuthFile") {
		t.Error(err)
	}
}

// TestRegistriesValues checks the values that follow from options and from files of the user.
func TestRegistriesValues(t *testing.T) {
	t.Parallel()
	for want, r := range map[int]Registries{
		remote.MaxStreams: {}, 3 * defaultLayers: {ParallelImages: 3}, defaultImages * 7: {ParallelLayers: 7}, 6: {ParallelImages: 2, ParallelLayers: 3},
	} {
		if got, err := Streams(&r); err != nil || got != want {
			t.Errorf("%+v: %d streams, %v, want %d", r, got, err, want)
		}
	}
	for rate, want := range map[limits.Rate]limits.Rate{0: 4 << 10, NoMinRate: 0, 1 << 20: 1 << 20} {
		if got, _, err := (&Registries{MinRate: rate}).slowest(); err != nil || got != want {
			t.Errorf("the minimum rate %d is %d, %v", rate, got, err)
		}
	}
	config := t.TempDir()
	write(t, filepath.Join(config, "gantry", "limits.yaml"), "hosts:\n- host: quay.io\n  streams: 8\n")
	e, _ := newEnv(t, Registries{Rate: 2 << 10}, map[string]string{"XDG_CONFIG_HOME": config})
	if rate, l, err := e.rateLimits(); err != nil || rate != 2<<10 || l == nil {
		t.Errorf("%d, %+v, %v", rate, l, err)
	}
	same, _ := newEnv(t, Registries{}, nil)
	one, err := same.Keys(Side{}, remote.Source)
	two, err2 := same.Keys(Side{}, remote.Destination)
	if errors.Join(err, err2) != nil || one != two {
		t.Errorf("sides with the same file: %p, %p, %v, %v", one, two, err, err2)
	}
}

// TestClient sends a request with the options of one side, repeats it, and counts it.
func TestClient(t *testing.T) {
	t.Parallel()
	var agents []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if agents = append(agents, r.UserAgent()); len(agents) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	var retried []remote.Side
	e, _ := newEnv(t, Registries{
		Source: Side{PlainHTTP: true}, RetryDelay: time.Millisecond, UserAgent: "test/1",
		OnRetry: func(side remote.Side, _ remote.RetryEvent) { retried = append(retried, side) },
	}, nil)
	c, err := e.Client(remote.Source)
	fail.On(t, err)
	host := strings.TrimPrefix(server.URL, "http://")
	ref, err := reference.Parse(host + "/a/b:v1")
	fail.On(t, err)
	if _, err := c.Resolve(t.Context(), ref); err == nil {
		t.Error("the registry has no image")
	}
	if len(agents) < 2 || slices.ContainsFunc(agents, func(a string) bool { return a != "test/1" }) || !slices.Equal(retried, []remote.Side{remote.Source}) || Retries(e.Hosts()) != 1 {
		t.Errorf("agents %q, repeated %v, %d counted", agents, retried, Retries(e.Hosts()))
	}
	hosts := e.Hosts()
	if len(hosts) != 1 || hosts[0].Host != host {
		t.Errorf("%+v", hosts)
	}
}

// TestFilesOfUser checks which files of the user or the machine are read.
func TestFilesOfUser(t *testing.T) {
	t.Parallel()
	e, warned := newEnv(t, Registries{}, map[string]string{"LOGNAME": "ops"})
	want := write(t, filepath.Join(e.Home, ".config", "containers", "no-such-file.json"), "{}")
	if got := UserName(e.Variable); got != "ops" {
		t.Errorf("the user is %q", got)
	}
	fail.On(t, os.Chmod(want, 0o644))
	info, err := os.Stat(want)
	fail.On(t, err)
	WarnExposed(e, want, info)
	WarnExposed(e, want, info)
	if len(*warned) != 1 || !strings.Contains((*warned)[0], "chmod 600") {
		t.Errorf("%q", *warned)
	}
	if !IsFile(want) || IsFile(e.Home) || IsFolder(want) || !IsFolder(e.Home) {
		t.Error("files and folders are confused")
	}
}

// TestReads checks the limits of files that a configuration or an option names.
func TestReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	small, large := write(t, filepath.Join(dir, "small"), "text"), write(t, filepath.Join(dir, "large"), strings.Repeat("x", 1<<20+1))
	if text, err := ReadLimited(small, 4); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := ReadLimited(large, 1<<20); err == nil || !strings.Contains(err.Error(), "has more than 1 MiB") {
		t.Error(err)
	}
	if text, err := (LocalFiles{}).ReadFile(small); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	for _, file := range []string{large, dir, filepath.Join(dir, "absent")} {
		if _, err := (LocalFiles{}).ReadFile(file); err == nil {
			t.Errorf("%s was read", file)
		}
	}
	d, size, mode, err := LocalFiles{}.LocalFile(t.Context(), small)
	if err != nil || d != digest.FromString("text") || size != 4 || mode.Perm() != 0o600 {
		t.Errorf("%s, %d bytes, mode %o, %v", d, size, mode, err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, err := (LocalFiles{}).LocalFile(canceled, small); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancellation: %v", err)
	}
}

// TestTexts checks names and texts that are made from values.
func TestTexts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"imageset": "imageset", "../a b/ü": "a-b-", "...": "imageset", "": "imageset", "v1.2_x": "v1.2_x"} {
		if got := SafeName(in); got != want {
			t.Errorf("SafeName(%q) = %q, want %q", in, got, want)
		}
	}
	if Number(1, "image", "images") != "1 image" || Number(int64(2), "image", "images") != "2 images" || Number(0, "image", "images") != "0 images" {
		t.Error("numbers of images")
	}
	if WorkspaceDir("") != DefaultWorkspace || WorkspaceDir("file:///w") != "/w" || WorkspaceDir("w") != "w" {
		t.Error("the folder of a workspace")
	}
	if SideName(remote.Source) == SideName(remote.Destination) || Milli(1500*time.Microsecond) != 0.002 {
		t.Error("names of sides, or milliseconds")
	}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{errors.New("plain"), "plain"}, {InputHint("do this", "it is %d", 1), "it is 1; do this"}, {InputHint("it is", "it is bad"), "it is bad"},
	} {
		if got := ErrorText(tc.err); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
	if got := ErrorText(errors.New("get https://ci:hunter2@example.com/x")); strings.Contains(got, "hunter2") {
		t.Error(got)
	}
}

// TestNothingSet checks that an Env without functions hears nothing and fails nowhere.
func TestNothingSet(t *testing.T) {
	t.Parallel()
	e, done := (*Env)(nil).OrDefault()
	defer done()
	e.Noticef("x %d", 1)
	e.Warnf("x")
	Show(e.Observer, "copying", func() progress.Reading { t.Error("progress without an observer"); return progress.Reading{} })()
	e.Logger().Info("x")
	if Retries(e.Hosts()) != 0 || len(e.Hosts()) != 0 {
		t.Error("requests before a client")
	}
	again, done := e.OrDefault()
	if done(); again != e {
		t.Error("another Env")
	}
}
