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
