package main

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestWrongLimits checks that invalid limits are reported before any request is sent, with the
// flag, or with file, line and field. Package limits tests the files.
func TestWrongLimits(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	before := len(w.source.Requests()) + len(w.mirror.Requests())
	for name, tc := range map[string]struct {
		text  string // content of the file; "" for flags only
		flags []string
		words []string
	}{
		"two mistakes": {
			text:  "hosts:\n- host: quay.io\n  streams: 0\n- streams: 3\n",
			words: []string{"limits.yaml:3: hosts[0]: streams", "limits.yaml:4: hosts[1]: the host is missing"},
		},
		"no file":         {flags: []string{"--limits", w.path("nowhere.yaml")}, words: []string{"reading limits", "nowhere.yaml"}},
		"--limit-rate":    {flags: []string{"--limit-rate", "fast"}, words: []string{"--limit-rate: "}},
		"--min-rate":      {flags: []string{"--min-rate", "100"}, words: []string{"--min-rate: ", "no unit"}},
		"silent-timeout":  {flags: []string{"--silent-timeout", "2h"}, words: []string{"--silent-timeout 2h", "from 1s to 1h"}},
		"parallel images": {flags: []string{"--parallel-images", "0"}, words: []string{`"0" for "--parallel-images"`, "from 1 to 100"}},
		"many retries":    {flags: []string{"--retry-times", "99999999999999"}, words: []string{"--retry-times 99999999999999", "from 0 to 1000"}},
		"a long delay":    {flags: []string{"--retry-delay", "1000000h"}, words: []string{"--retry-delay 1000000h", "from 0 to 1h"}},
		"no credentials":  {flags: []string{"--src-authfile", w.path("nowhere.json")}, words: []string{"nowhere.json", "--src-authfile", "gantry registry login"}},
		"no JSON":         {flags: []string{"--authfile", w.path("imageset.yaml")}, words: []string{"imageset.yaml (named by --authfile)", "line 1 is not valid JSON"}},
	} {
		t.Run(name, func(*testing.T) {
			args := append([]string{"mirror", "-c", w.path("imageset.yaml"), w.docker("")}, tc.flags...)
			if tc.text != "" {
				args = append(args, "--limits", w.write("limits.yaml", tc.text))
			}
			w.refuse(exitUsage, tc.words, args...)
		})
	}
	if n := len(w.source.Requests()) + len(w.mirror.Requests()); n > before {
		t.Errorf("%d requests were made: %v", n-before, w.source.Requests())
	}
}
