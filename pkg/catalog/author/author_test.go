package author_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/author"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestPackage(t *testing.T) {
	svg := "<?xml version='1.0'?><!-- a --><svg xmlns='http://www.w3.org/2000/svg'/>"
	m, err := author.Package(author.PackageText{Name: "kelp", DefaultChannel: "stable", Description: "# Kelp\n\nA <b> & c.\n", Icon: []byte(svg)})
	fail.On(t, err)
	want := `{"schema":"olm.package","name":"kelp","defaultChannel":"stable","icon":{"base64data":"` +
		base64.StdEncoding.EncodeToString([]byte(svg)) + `","mediatype":"image/svg+xml"},"description":"# Kelp\n\nA <b> & c.\n"}`
	fail.Diff(t, want, string(m.Raw))
	c, err := catalog.New([]*catalog.Meta{m})
	if err != nil || c.Package("kelp").DefaultChannel != "stable" {
		t.Errorf("read as %+v, %v", c, err)
	}
}

func TestPackageErrors(t *testing.T) {
	for _, tc := range []struct {
		text author.PackageText
		want string
	}{
		{author.PackageText{Name: "Kelp", DefaultChannel: "a"}, `package name "Kelp"`},
		{author.PackageText{Name: strings.Repeat("a", 64), DefaultChannel: "a"}, "63"},
		{author.PackageText{Name: "kelp"}, "default channel"},
		{author.PackageText{Name: "kelp", DefaultChannel: "a", Description: "\xff"}, "UTF-8"},
		{author.PackageText{Name: "kelp", DefaultChannel: "a", Icon: []byte("<html/>")}, "not an SVG"},
		{author.PackageText{Name: "kelp", DefaultChannel: "a", Icon: []byte("BM")}, "not an SVG"},
	} {
		if m, err := author.Package(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, %v", tc.text, m, err)
		}
	}
}

func TestPictures(t *testing.T) {
	for data, want := range map[string]string{
		"\x89PNG\r\n\x1a\n...": "image/png", "\xff\xd8\xff\xe0": "image/jpeg", "GIF89a": "image/gif", "<svg/>": "image/svg+xml",
	} {
		m, err := author.Package(author.PackageText{Name: "a", DefaultChannel: "b", Icon: []byte(data)})
		if err != nil || !strings.Contains(string(m.Raw), `"mediatype":"`+want+`"`) {
			t.Errorf("%q: %s, %v", data, m.Raw, err)
		}
	}
}

const plainPackage = `
{"schema":"olm.package","name":"a","defaultChannel":"s"}
{"schema":"olm.channel","package":"a","name":"s","entries":[{"name":"a.v1"}]}
{"schema":"olm.bundle","package":"a","name":"a.v1","image":"q.io/a:v1"}
`

func read(t *testing.T, text string) *catalog.Package {
	t.Helper()
	c, err := catalog.Read(t.Context(), fstest.MapFS{"f": {Data: []byte(text)}}, catalog.Options{})
	fail.On(t, err)
	return c.Package("a")
}

func TestDeprecate(t *testing.T) {
	one := `{"schema":"olm.deprecations","package":"a","entries":[{"reference":{"schema":"olm.channel","name":"s"},"message":"old","x":1}]}`
	for _, tc := range []struct {
		name, there string
		target      author.Target
		message     string
		want        string
	}{
		{"the first", "", author.Target{Bundle: "a.v1"}, "gone <soon>",
			`{"schema":"olm.deprecations","package":"a","entries":[{"reference":{"schema":"olm.bundle","name":"a.v1"},"message":"gone <soon>"}]}`},
		{"another beside it", one, author.Target{}, "all",
			`{"schema":"olm.deprecations","package":"a","entries":[{"reference":{"schema":"olm.channel","name":"s"},"message":"old","x":1},{"reference":{"schema":"olm.package"},"message":"all"}]}`},
		{"another message", one, author.Target{Channel: "s"}, "older",
			`{"schema":"olm.deprecations","package":"a","entries":[{"reference":{"schema":"olm.channel","name":"s"},"message":"older"}]}`},
		{"the last is taken back", one, author.Target{Channel: "s"}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, after, err := author.Deprecate(read(t, plainPackage+tc.there), tc.target, tc.message)
			fail.On(t, err)
			got := ""
			if after != nil {
				got = string(after.Raw)
			}
			fail.Diff(t, tc.want, got)
			if (before == nil) != (tc.there == "") {
				t.Errorf("it replaces %v", before)
			}
		})
	}
}

func TestDeprecateErrors(t *testing.T) {
	for _, tc := range []struct {
		target  author.Target
		message string
		want    string
	}{
		{author.Target{Bundle: "a.v2"}, "x", `has no bundle "a.v2"; did you mean "a.v1"?`},
		{author.Target{Channel: "q"}, "x", `has no channel "q"; it has s`},
		{author.Target{}, "", "is not deprecated"},
	} {
		if _, _, err := author.Deprecate(read(t, plainPackage), tc.target, tc.message); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v", tc.target, err)
		}
	}
}
