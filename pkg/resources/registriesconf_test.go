package resources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pelletier/go-toml/v2"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestRegistriesConf checks that the file means the same as the mirror sets.
func TestRegistriesConf(t *testing.T) {
	images, _ := example(t)
	images = append(images, many(t, 50)...)
	for _, policy := range []string{"", "AllowContactingSource", neverContactSource} {
		opts := Options{MirrorSourcePolicy: policy}
		files, _, err := Build(images, nil, opts)
		fail.On(t, err)
		mirrors, err := Mirrors(images, opts)
		fail.On(t, err)
		for _, plainHTTP := range []bool{false, true} {
			var conf struct {
				Registry []struct {
					Prefix, Location string
					Blocked          bool
					Mirror           []struct {
						Location string
						Pull     string `toml:"pull-from-mirror"`
						Insecure bool
					}
				}
			}
			text := RegistriesConf(mirrors, plainHTTP)
			if err := toml.Unmarshal(text, &conf); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			got := node{}
			for _, r := range conf.Registry {
				if r.Prefix != r.Location || got[r.Prefix] != nil {
					t.Errorf("table of %s at %s", r.Prefix, r.Location)
				}
				entry := &registry{blocked: r.Blocked}
				for _, m := range r.Mirror {
					if m.Insecure != plainHTTP {
						t.Errorf("mirror %s is insecure: %v", m.Location, m.Insecure)
					}
					switch m.Pull {
					case "digest-only":
						entry.digest = append(entry.digest, m.Location)
					case "tag-only":
						entry.tag = append(entry.tag, m.Location)
					default:
						t.Errorf("mirror %s for pulls %q", m.Location, m.Pull)
					}
				}
				got[r.Prefix] = entry
			}
			if diff := cmp.Diff(newNode(t, files), got, cmp.AllowUnexported(registry{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("policy %q: mirror sets and registries.conf differ:\n%s", policy, diff)
			}
		}
	}
}
