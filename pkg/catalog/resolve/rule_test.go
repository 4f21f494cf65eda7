package resolve

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// sample is a bundle with a hundred properties of one kind and its version last.
func sample() *catalog.Bundle {
	b := &catalog.Bundle{}
	for range 100 {
		b.Properties = append(b.Properties, catalog.Property{Type: "olm.gvk", Value: []byte(`{"group":"a.b","kind":"K","version":"v1"}`)})
	}
	b.Properties = append(b.Properties, catalog.Property{Type: "olm.package", Value: []byte(`{"packageName":"p","version":"1.2.3"}`)})
	return b
}

// TestRules checks the results of rules.
func TestRules(t *testing.T) {
	t.Parallel()
	l, err := newLanguage()
	fail.On(t, err)
	properties := l.properties(sample())
	for text, want := range map[string]bool{
		`true`:                    true,
		`size(properties) == 101`: true,
		`properties.exists(p, p.type == "olm.package" && p.value.packageName == "p")`:                      true,
		`properties.exists_one(p, p.type == "olm.package")`:                                                true,
		`properties.all(p, p.type == "olm.gvk")`:                                                           false,
		`properties.all(p, p.type.startsWith("olm."))`:                                                     true,
		`properties.exists(p, p.type.matches("^olm[.]p"))`:                                                 true,
		`properties.exists(p, matches(p.type, "^p"))`:                                                      false,
		`properties.filter(p, p.type == "olm.package").map(p, p.value.version) == ["1.2.3"]`:               true,
		`properties.filter(p, p.type == "olm.package").map(p, p.type + "!")[0] == "olm.package!"`:          true,
		`(properties + properties)[150].type == "olm.gvk"`:                                                 true,
		`size([1, 2] + [3] + [4, 5]) == 5 && [1] + [2] == [1, 2]`:                                          true,
		`"olm.package" in properties.map(p, p.type)`:                                                       true,
		`has(properties[100].value.version) && !has(properties[100].value.channel)`:                        true,
		`properties[100].value == {"packageName": "p", "version": "1.2.3"}`:                                true,
		`properties[100] != properties[0]`:                                                                 true,
		`properties[0] != properties[1]`:                                                                   false,
		`properties[500].type == "x" || true`:                                                              true,
		`properties[500].type == "x" || false`:                                                             false,
		`semver_compare(properties[100].value.version, "1.2.0") > 0`:                                       true,
		`semver_compare("v1.2", "1.2.0") == 0`:                                                             true,
		`semver_compare("1.0.0-rc1", "1.0.0") == -1`:                                                       true,
		`semver_compare(1, "1.0.0") == 0`:                                                                  true,
		`1 + 1 == 2 && 2.5 > 2.0 && "b" + "a" == "ba" && duration("1h") + duration("1h") > duration("1h")`: true,
		`properties.exists(p, p.type.matches("["))`:                                                        false,
		`"a".matches("` + strings.Repeat("a", 300) + `")`:                                                  false,
	} {
		r, err := l.compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := r.holds(properties); got != want {
			t.Errorf("%s is %v: %v", text, got, r.err)
		}
	}
}

// TestHostileRules checks that rules that would never end or use all memory are stopped. The
// main check is that the test ends.
func TestHostileRules(t *testing.T) {
	t.Parallel()
	many := func(n int, text string) string { return strings.Repeat(text, n) }
	for name, tc := range map[string]struct {
		text string
		want string // in the error of compiling, or else of evaluating
	}{
		"loops in loops":             {`properties.all(a, properties.all(b, properties.all(c, properties.all(d, a.type != "x"))))`, "exceeds the cost limit"},
		"loops that do nothing":      {`properties.all(a, properties.all(b, properties.all(c, properties.all(d, true))))`, "exceeds the cost limit"},
		"strings that double":        {`["abc"].exists(x, ` + many(15, "[x + x].exists(x, ") + `x + x + x + x + x == x` + many(15, ")") + `)`, "exceeds the cost limit"},
		"strings of any type":        {`properties.exists(p, [p.type].exists(x, ` + many(12, "[x+x+x+x+x+x+x+x].exists(x, ") + `x == ""` + many(12, ")") + `))`, "exceeds the cost limit"},
		"lists that double":          {`[properties].exists(x, ` + many(25, "[x+x].exists(x, ") + `size(x) == 0` + many(25, ")") + `)`, "exceeds the cost limit"},
		"lists that share":           {`[properties].exists(x, ` + many(25, "[[x,x]].exists(x, ") + `x == x` + many(25, ")") + `)`, "makes 51 lists"},
		"equal lists that share":     {`[properties].exists(x, ` + many(14, "[[x,x]].exists(x, ") + `x == x` + many(14, ")") + `)`, "exceeds the cost limit"},
		"versions that share":        {`[properties].exists(x, ` + many(14, "[[x,x]].exists(x, ") + `semver_compare(x, x) == 0` + many(14, ")") + `)`, "exceeds the cost limit"},
		"membership that shares":     {`[properties].exists(x, ` + many(14, "[[x,x]].exists(x, ") + `x in [x]` + many(14, ")") + `)`, "exceeds the cost limit"},
		"types that double":          {`[1].exists(x, ` + many(30, "[{x: x}].exists(x, ") + `x == x` + many(30, ")") + `)`, "30 maps"},
		"regular expressions":        {`properties.exists(b, "aaaaaaaaaaaaaaaaaaaaaaaa".matches("((a{100}){10}){1}" + b.type + "?"))`, "exceeds the cost limit"},
		"many regular expressions":   {`properties.exists(a, ["a","b","c","d","e","f","g","h","i","j","k"].exists(b, "a".matches(b + "{1000}" + b + "{1000}" + a.type)))`, "exceeds the cost limit"},
		"a large expression":         {`properties.all(p, !"a".matches("` + many(8, "a{1000}") + `"))`, "exceeds the cost limit"},
		"parentheses":                {many(4000, "(") + "true" + many(4000, ")"), "recursion"},
		"brackets":                   {many(8000, "["), "recursion"},
		"sums":                       {"1" + many(4000, "+1") + " > 0", "recursion"},
		"a rule that is long":        {"true" + many(4000, "||true"), "it has 24004 bytes; the limit is 8192"},
		"a rule that is long enough": {"true" + many(1300, "||true"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := newLanguage()
			fail.On(t, err)
			r, err := l.compile(tc.text)
			if err == nil {
				r.holds(l.properties(sample()))
				err = r.err
			}
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err == nil {
				return
			}
			if simple, err := l.compile("true"); err != nil || !simple.holds(l.properties(sample())) {
				t.Errorf("a later rule fails: %v", err)
			}
		})
	}
}

// TestCostOfAllRules checks the limit for all rules together.
func TestCostOfAllRules(t *testing.T) {
	t.Parallel()
	l, err := newLanguage()
	fail.On(t, err)
	l.left = 1_000_000
	r, err := l.compile(`properties.all(a, properties.all(b, a.type != "x"))`)
	fail.On(t, err)
	properties, n := l.properties(sample()), 0
	for r.err == nil && n < 1000 {
		r.holds(properties)
		n++
	}
	if r.err == nil || n < 10 {
		t.Errorf("got %v after %d", r.err, n)
	}
	if _, err := l.compile("true"); err == nil {
		t.Error("a rule is compiled at no cost")
	}
}
