package state

import (
	"strings"
	"testing"
)

func TestReadDocument(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in, want string
	}{
		{`{"name":"x"}`, ""},
		{`{"name":"x"}` + "\n", ""},
		{"", "it is truncated"},
		{`{"name":`, "it is truncated"},
		{`{"name":"x"}{}`, "more text follows the value"},
		{`{"name":"x"}]`, "more text follows the value"},
		{`{"name":1}`, "unmarshal JSON number"},
		{`{"more":1}`, `unknown object member name "more"`},
		{`{"Name":"x"}`, `unknown object member name "Name"`},
		{`{"name":"","name":0}`, `duplicate object member name "name"`},
		{`{"name":"twenty letters and more"}`, "it has more than 20 bytes"},
		{`{"name":"x"}` + strings.Repeat(" ", 20), "it has more than 20 bytes"},
	} {
		var v struct {
			Name string `json:"name"`
		}
		err := readDocument(strings.NewReader(tc.in), 20, &v)
		if tc.want == "" && (err != nil || v.Name != "x") {
			t.Errorf("%q: %+v, %v", tc.in, v, err)
		}
		if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%q: %v, want %q", tc.in, err, tc.want)
		}
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		head header
		want string
	}{
		{header{"K", 1, "imageset"}, ""},
		{header{"K", 1, ""}, ""},
		{header{"K", 1, strings.Repeat("a", 255)}, ""},
		{header{"L", 1, "x"}, `kind "L" is not K`},
		{header{"K", 2, "x"}, "version 2: this program knows version 1"},
		{header{"K", 1, "../x"}, `name "../x"`},
		{header{"K", 1, strings.Repeat("a", 256)}, "name "},
	} {
		err := tc.head.check("K", 1)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.head, err, tc.want)
		}
	}
}

// Text that would take much more memory than its size is refused.
func TestReadDenseDocument(t *testing.T) {
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
		err := readDocument(strings.NewReader(text), 1<<30, &v)
		if tc.want == "" && (err != nil || len(v.All) != 100_001) {
			t.Errorf("%s: %d, %v", tc.item, len(v.All), err)
		}
		if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || len(v.All) > 10_000) {
			t.Errorf("%s: %d, %v, want %q", tc.item, len(v.All), err, tc.want)
		}
	}
}
