package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"
)

// hostile would, on a terminal, clear the screen, call itself something else, set
// another title, go back in the line, and turn the direction of writing.
const hostile = "\x1b[2JSafe\x07\u009b1m\r\u202eelat\x7f"

// hostileGraph is an update graph whose texts are orders for terminals.
func hostileGraph(t *testing.T) asking {
	t.Helper()
	text, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	channels, err := json.Marshal("stable-4.20," + hostile)
	if err != nil {
		t.Fatal(err)
	}
	answer := fmt.Appendf(nil, `{"version":1,"nodes":[
{"version":"4.20.1","payload":"quay.io/x/y@sha256:%064d","metadata":{"url":%[2]s,"io.openshift.upgrades.graph.release.channels":%[4]s}},
{"version":"4.20.2","payload":"quay.io/x/y@sha256:%064[3]d","metadata":{"url":%[2]s}}],"edges":[],
"conditionalEdges":[{"edges":[{"from":"4.20.1","to":"4.20.2"}],"risks":[{"name":%[2]s,"message":%[2]s,"url":%[2]s,"matchingRules":[{"type":"PromQL","promql":{"promql":%[2]s}}]}]}]}`, 1, text, 2, channels)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer) }))
	t.Cleanup(s.Close)
	return ask(t, s.URL)
}

// What strangers write moves no cursor.
func TestOrdersForTerminals(t *testing.T) {
	t.Parallel()
	k := hostileGraph(t)
	for _, tc := range []struct {
		args []string
		code int
	}{
		{args: []string{"list", "releases", "--channel=stable-4.20"}},
		{args: []string{"list", "releases", "--channel=stable-4.20", "--from=4.20.1"}},
		{args: []string{"list", "releases", "--channel=stable-4.20", "--from=4.20.1", "--to=4.20.2"}},
		{args: []string{"list", "releases", "--channel=stable-4.20", "--from=4.20.1", "--to=4.20.2", "--forbid-risk=" + hostile}, code: exitUsage},
		{args: []string{"list", "releases", "--channel=stable-4.20", "--from=4.20.1", "--accept-risk=" + hostile + "?"}},
		{args: []string{"graph", "release", "stable-4.20"}},
		{args: []string{"graph", "release", "stable-4.20", "-o=mermaid"}},
		{args: []string{"graph", "release", "stable-4.20", "-o=dot"}},
		{args: []string{"graph", "release", "stable-4.20", "-o=svg"}},
	} {
		o := k.gantry(tc.args...)
		if o.code != tc.code || !strings.Contains(o.stdout, "4.20.2") {
			t.Errorf("gantry %q ended with %d, want %d\n%s%s", tc.args, o.code, tc.code, o.stdout, o.stderr)
		}
		if i := strings.IndexFunc(o.stdout+o.stderr, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); i >= 0 {
			t.Errorf("gantry %q prints %q", tc.args, (o.stdout + o.stderr)[max(0, i-20):i+10])
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	if got, want := plain("a\tb\nö\u00a0東 "+hostile+"\xff"), "a\tb\nö\u00a0東 �[2JSafe��1m��elat��"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := oneLine("a\n  b\t"+hostile), "a b [2JSafe 1m elat"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
