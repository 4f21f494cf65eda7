package graph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestOrder(t *testing.T) {
	for _, tc := range []struct{ name, channel, want string }{
		{"none", "", ""},
		{"a chain in any order", "2:1 1 3:2", "3 2 1"},
		{"skipped entries are omitted, and the walk continues below them", "1 2:1 3:2,2 4:3", "4 3 1"},
		{"off the chain", "1 2 3:2,1", "3 2"},
		{"a fork", "1 2:1 3:1,2", "3 1"},
		{"missing names", "2:1 3:2,0", "3 2"},
		{"two heads", "1 2:1 3:1", ""},
		{"no head", "1:2 2:1", ""},
		{"itself", "1:1", ""},
		{"a cycle below the head", "1:2 2:1 3:2", ""},
		{"a cycle below skipped ones, which opm validate passes", "1:2 2:1 3:2,1,2", ""},
	} {
		var entries []catalog.Entry
		if tc.channel != "" {
			entries = pkg("a " + tc.channel).Channels[0].Entries
		}
		got := elements.Map(Order(entries), func(e catalog.Entry) string { return strings.TrimPrefix(e.Name, "p.v") })
		if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

// Ten thousand skips of an entry, nearly all of names that do not exist, and ten thousand entries
// that replace each other.
func TestLargeChannels(t *testing.T) {
	head := catalog.Entry{Name: "p.v2.0.0", Replaces: "p.v1.0.0"}
	for i := range 10_000 {
		head.Skips = append(head.Skips, fmt.Sprintf("p.v0.%d.0", i))
	}
	p := pkg("a 1.0.0 0.7.0 2.0.0:1.0.0")
	p.Channels[0].Entries[2] = head
	for _, gen := range []Generation{Classic, V1} {
		fail.Diff(t, "a skips 2.0.0", steps(NewUpdates(p, View{Generation: gen}).Walk(at("0.9999.0"))))
	}
	words := []string{"a"}
	for i := range 10_000 {
		words = append(words, fmt.Sprintf("1.%d.0:1.%d.0", i+1, i))
	}
	p = pkg(words[0] + " " + strings.Join(words[1:100], " "))
	for _, gen := range []Generation{Classic, V1} {
		if got := NewUpdates(p, View{Generation: gen}).Walk(at("1.0.0")); len(got) != 99 {
			t.Errorf("%s: %d hops", gen, len(got))
		}
	}
}
