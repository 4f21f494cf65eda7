package validate_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// Bundles that substitute each other are found in both forms in which a catalog has their annotations.
func TestSubstituteCycle(t *testing.T) {
	t.Parallel()
	metadata := func(place string) string {
		return fmt.Sprintf(`{type: olm.csv.metadata, value: {annotations: {olm.substitutesFor: %q}}}`, place)
	}
	object := func(before int) func(string) string {
		return func(place string) string {
			csv := fmt.Sprintf(`{"kind":"ClusterServiceVersion","a":%q,"metadata":{"annotations":{"olm.substitutesFor":%q}}}`, strings.Repeat("x", before), place)
			return fmt.Sprintf(`{type: olm.bundle.object, value: {data: %s}}`, base64.StdEncoding.EncodeToString([]byte(csv)))
		}
	}
	for name, annotated := range map[string]func(string) string{"metadata": metadata, "object": object(0), "object+1": object(1), "object+2": object(2)} {
		for _, tc := range []struct {
			places [3]string // of p.v1.0.0, p.v1.0.1 and p.v1.0.2
			want   string
		}{
			{[3]string{"", "p.v1.0.0", "p.v1.0.1"}, ""},
			{[3]string{"p.v1.0.0", "", ""}, "p.v1.0.0 -> p.v1.0.0"},
			{[3]string{"p.v1.0.2", "p.v1.0.0", "p.v1.0.1"}, "p.v1.0.0 -> p.v1.0.2 -> p.v1.0.1 -> p.v1.0.0"},
			{[3]string{"p.v1.0.1", "p.v1.0.2", "p.v1.0.1"}, "p.v1.0.1 -> p.v1.0.2 -> p.v1.0.1"},
			{[3]string{"", "q.v1", "q.v1"}, ""},
		} {
			text, entries := "---\n{schema: olm.package, name: p, defaultChannel: a}\n", ""
			for i, place := range tc.places {
				text += fmt.Sprintf("---\n{schema: olm.bundle, package: p, name: p.v1.0.%d, image: example.com/p:%[1]d, properties: [{type: olm.package, value: {packageName: p, version: 1.0.%[1]d}}, %s]}\n", i, annotated(place))
				if entries += fmt.Sprintf("{name: p.v1.0.%d", i); i > 0 {
					entries += fmt.Sprintf(", replaces: p.v1.0.%d", i-1)
				}
				entries += "}, "
			}
			text += "---\n{schema: olm.channel, package: p, name: a, entries: [" + entries + "]}\n"
			v := validate.NewValidator()
			c, err := catalog.Read(t.Context(), fstest.MapFS{"c.yaml": {Data: []byte(text)}}, v.Options())
			fail.On(t, err)
			err = v.Catalog(c)
			var invalid *validate.Error
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("%s: %v: %v", name, tc.places, err)
			case tc.want == "":
			case !errors.As(err, &invalid) || len(invalid.Problems) != 1 || invalid.Problems[0].Rule != validate.SubstituteCycle || !strings.HasSuffix(invalid.Problems[0].Message, ": "+tc.want):
				t.Errorf("%s: %v: %v, want %q", name, tc.places, err, tc.want)
			}
			if c, err = catalog.Read(t.Context(), fstest.MapFS{"c.yaml": {Data: []byte(text)}}, catalog.Options{}); err == nil {
				err = validate.Catalog(c)
			}
			if err != nil {
				t.Errorf("a catalog with %v cannot be mirrored: %v", tc.places, err)
			}
		}
	}
}
