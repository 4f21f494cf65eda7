package image

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image"
)

func TestCommandRebuilt(t *testing.T) {
	tests := []struct {
		name            string
		entrypoint, cmd []string
		wantEntrypoint  []string
		wantCmd         []string
		warns           bool
	}{
		{"opm's Dockerfile", []string{"/bin/opm"}, []string{"serve", "/configs", "--cache-dir=/tmp/cache"}, []string{"/bin/opm"}, []string{"serve", "/configs"}, false},
		{"two arguments", []string{"opm"}, []string{"serve", "--cache-dir", "/tmp/cache", "/configs"}, []string{"opm"}, []string{"serve", "/configs"}, false},
		{"all flags", []string{"opm"}, []string{"serve", "/configs", "--cache-dir=/c", "--cache-only", "--cache-enforce-integrity=true", "--debug", "-p", "50051"}, []string{"opm"}, []string{"serve", "/configs", "--debug", "-p", "50051"}, false},
		{"no cache", []string{"opm"}, []string{"serve", "/configs"}, []string{"opm"}, []string{"serve", "/configs"}, false},
		{"all in the entrypoint", []string{"opm", "serve", "/configs", "--cache-dir=/c"}, nil, []string{"opm", "serve", "/configs"}, nil, false},
		{"all in cmd", nil, []string{"opm", "serve", "/configs", "--cache-dir=/c"}, nil, []string{"opm", "serve", "/configs"}, false},
		{"value on the other side", []string{"opm", "serve", "/configs", "--cache-dir"}, []string{"/c"}, []string{"opm", "serve", "/configs"}, nil, false},
		{"flag at the end", []string{"opm"}, []string{"serve", "/configs", "--cache-dir"}, []string{"opm"}, []string{"serve", "/configs"}, false},
		{"relative directory", []string{"opm"}, []string{"serve", "configs/", "--cache-dir=/c"}, []string{"opm"}, []string{"serve", "configs/"}, false},
		{"another directory", []string{"opm"}, []string{"serve", "/other", "--cache-dir=/c"}, []string{"opm"}, []string{"serve", "/configs"}, true},
		{"flag value before the directory", []string{"opm"}, []string{"serve", "--termination-log", "/dev/null", "/configs"}, []string{"opm"}, []string{"serve", "--termination-log", "/dev/null", "/configs"}, false},
		{"not opm", []string{"/bin/sh", "-c", "opm serve /configs --cache-dir=/c"}, []string{"--cache-dir=/c"}, []string{"/bin/sh", "-c", "opm serve /configs --cache-dir=/c"}, []string{"--cache-dir=/c"}, true},
		{"opm alone", []string{"opm"}, nil, []string{"opm"}, nil, false},
		{"another verb", []string{"opm"}, []string{"validate", "/configs"}, []string{"opm"}, []string{"validate", "/configs"}, false},
		{"nothing", nil, nil, nil, nil, false},
	}
	for _, test := range tests {
		got, warning := command{test.entrypoint, test.cmd}.rebuilt("/configs", "/configs", "")
		if diff := cmp.Diff([][]string{test.wantEntrypoint, test.wantCmd}, [][]string{got.Entrypoint, got.Cmd}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if (warning != "") != test.warns {
			t.Errorf("%s: warning %q", test.name, warning)
		}
	}
}

func TestCacheDir(t *testing.T) {
	tests := []struct {
		entrypoint, cmd []string
		dir             string
		want            string
	}{
		{[]string{"/bin/opm"}, []string{"serve", "/configs", "--cache-dir=/var/c/"}, "configs", "var/c"},
		{[]string{"/bin/opm"}, []string{"serve", "/configs", "--cache-dir", "c"}, "configs", "work/c"},
		{[]string{"/bin/opm"}, []string{"serve", "/configs"}, "configs", "tmp/cache"},
		{nil, nil, "configs", "tmp/cache"},
		{nil, nil, "tmp/cache/configs", ""},
		{[]string{"/bin/sh"}, []string{"--cache-dir=/c"}, "configs", ""},
		{[]string{"/bin/opm"}, []string{"--cache-dir=/"}, "configs", ""},
		{[]string{"/bin/opm"}, []string{"--cache-dir=/bin"}, "configs", ""},
		{[]string{"/bin/opm"}, []string{"--cache-dir=/srv"}, "srv/configs", ""},
		{[]string{"/bin/opm"}, []string{"--cache-dir=/configs/c"}, "configs", ""},
		{[]string{"/bin/opm"}, []string{"--cache-dir=/configs2"}, "configs", "configs2"},
	}
	for _, test := range tests {
		p := &image.Platform{Command: image.Command{Entrypoint: test.entrypoint, Cmd: test.cmd}, WorkingDir: "/work"}
		fail.Diff(t, test.want, cacheDir(p, test.dir))
	}
}
