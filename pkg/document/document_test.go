package document

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in, want string
	}{
		{`{"name":"x"}`, ""},
		{`{"name":"x"}` + "\n", ""},
		{"", "it is cut off"},
		{`{"name":`, "it is cut off"},
		{`{"name":"x"}{}`, "something follows it"},
		{`{"name":"x"}]`, "something follows it"},
		{`{"name":1}`, "cannot unmarshal JSON number"},
		{`{"more":1}`, `unknown object member name "more"`},
		{`{"Name":"x"}`, `unknown object member name "Name"`},
		{`{"name":"","name":0}`, `duplicate object member name "name"`},
		{`{"name":"twenty letters and more"}`, "it has more than 20 bytes"},
		{`{"name":"x"}` + strings.Repeat(" ", 20), "it has more than 20 bytes"},
	} {
		var v struct {
			Name string `json:"name"`
		}
		err := Read(strings.NewReader(tc.in), 20, &v)
		if tc.want == "" && (err != nil || v.Name != "x") {
			t.Errorf("%q: %+v, %v", tc.in, v, err)
		}
		if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%q: %v, want %q", tc.in, err, tc.want)
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		head Head
		want string
	}{
		{Head{"K", 1, "imageset"}, ""},
		{Head{"K", 1, ""}, ""},
		{Head{"K", 1, strings.Repeat("a", 255)}, ""},
		{Head{"L", 1, "x"}, `kind "L" is not K`},
		{Head{"K", 2, "x"}, "version 2: this program knows version 1"},
		{Head{"K", 1, "../x"}, `name "../x"`},
		{Head{"K", 1, strings.Repeat("a", 256)}, "name "},
	} {
		err := tc.head.Check("K", 1)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.head, err, tc.want)
		}
	}
}

// TestDense refuses text that would take much more memory than it is long.
func TestDense(t *testing.T) {
	t.Parallel()
	type one struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}
	for _, tc := range []struct{ item, want string }{
		{`{},`, "objects"},
		{`{"tags":[` + strings.Repeat(`"",`, 40) + `""]},`, "fields"},
		{`{"name":"twenty-four letters make it"},`, ""},
	} {
		var v struct {
			All []one `json:"all"`
		}
		text := `{"all":[` + strings.Repeat(tc.item, 100_000) + `{"name":"the last of them"}]}`
		err := Read(strings.NewReader(text), 1<<30, &v)
		if tc.want == "" && (err != nil || len(v.All) != 100_001) {
			t.Errorf("%s: %d, %v", tc.item, len(v.All), err)
		}
		if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || len(v.All) > 10_000) {
			t.Errorf("%s: %d, %v, want %q", tc.item, len(v.All), err, tc.want)
		}
	}
}
