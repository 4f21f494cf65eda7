package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// hostile is a text that, on a terminal, would clear the screen, rename the program, change the
// title, go back in the line and reverse the direction of writing.
const hostile = "\x1b[2JSafe\x07\u009b1m\r\u202eelat\x7f"

// hostileGraph returns an update graph whose texts contain terminal escape sequences.
func hostileGraph(t *testing.T) asking {
	t.Helper()
	text, err := json.Marshal(hostile)
	fail.On(t, err)
	channels, err := json.Marshal("stable-4.20," + hostile)
	fail.On(t, err)
	answer := fmt.Appendf(nil, `{"version":1,"nodes":[
{"version":"4.20.1","payload":"quay.io/x/y@sha256:%064d","metadata":{"url":%[2]s,"io.openshift.upgrades.graph.release.channels":%[4]s}},
{"version":"4.20.2","payload":"quay.io/x/y@sha256:%064[3]d","metadata":{"url":%[2]s}}],"edges":[],
"conditionalEdges":[{"edges":[{"from":"4.20.1","to":"4.20.2"}],"risks":[{"name":%[2]s,"message":%[2]s,"url":%[2]s,"matchingRules":[{"type":"PromQL","promql":{"promql":%[2]s}}]}]}]}`, 1, text, 2, channels)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer) }))
	t.Cleanup(s.Close)
	return ask(t, s.URL)
}

// TestTerminalEscapes checks that no untrusted text reaches a terminal with its escape sequences.
func TestTerminalEscapes(t *testing.T) {
	t.Parallel()
	k := hostileGraph(t)
	for _, args := range []string{
		"list releases --channel=stable-4.20", "list releases --channel=stable-4.20 --from=4.20.1", "list releases --channel=stable-4.20 --from=4.20.1 --to=4.20.2",
		"list releases --channel=stable-4.20 -o=json", "list releases --channel=stable-4.20 -o=yaml", "list releases --channel=stable-4.20 --from=4.20.1 --accept-risk=" + hostile + "?",
		"graph release stable-4.20", "graph release stable-4.20 -o=mermaid", "graph release stable-4.20 -o=dot", "graph release stable-4.20 -o=svg", "graph release stable-4.20 -o=json",
	} {
		o := k.gantry(strings.Split(args, " ")...)
		if o.code != exitOK || !strings.Contains(o.stdout, "4.20.2") {
			t.Errorf("gantry %q ended with %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
		if i := strings.IndexFunc(o.stdout+o.stderr, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); i >= 0 {
			t.Errorf("gantry %q prints %q", args, (o.stdout + o.stderr)[max(0, i-20):i+10])
		}
	}
}

func TestControlCharactersInOutput(t *testing.T) {
	t.Parallel()
	if got, want := plain("a\tb\nö\u00a0東 "+hostile+"\xff"), "a\tb\nö\u00a0東 �[2JSafe��1m��elat��"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := view.OneLine("a\n  b\t"+hostile), "a b [2JSafe 1m elat"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCatalogEscapes checks that objects of a catalog are printed without characters that a terminal
// could interpret, and that they are the same objects when they are read again.
func TestCatalogEscapes(t *testing.T) {
	t.Parallel()
	k := asking{t, map[string]string{"HOME": t.TempDir(), "CONTAINERS_REGISTRIES_CONF": os.DevNull}}
	dir := t.TempDir()
	text, err := json.Marshal(map[string]string{"schema": "olm.package", "name": "a", "description": hostile, "icon\u202e": "x\n" + hostile})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "a.json"), text, 0o600)
	}
	fail.On(t, err)
	for _, form := range []string{"json", "yaml"} {
		o := k.gantry("catalog", "render", dir, "-o", form)
		if i := strings.IndexFunc(o.stdout+o.stderr, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); i >= 0 || o.code != exitOK {
			t.Errorf("-o %s ended with %d and prints %q", form, o.code, o.stdout+o.stderr)
		}
		var got, want map[string]string
		if err := errors.Join(yaml.Unmarshal([]byte(o.stdout), &got), json.Unmarshal(text, &want)); err != nil || !maps.Equal(got, want) {
			t.Errorf("-o %s: %q, %v; want %q", form, got, err, want)
		}
	}
}
