package picture_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/picture"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// realPackage reads a package of a public catalog, with old replaced by new.
func realPackage(t *testing.T, name, old, new string) *catalog.Package {
	t.Helper()
	if _, err := os.Stat(realCatalogs); err != nil {
		t.Skip("there are no real catalogs beside the checkout")
	}
	files, err := filepath.Glob(filepath.Join(realCatalogs, name, "catalog.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: got %v, %v", name, files, err)
	}
	text, err := os.ReadFile(files[0])
	fail.On(t, err)
	if !bytes.Contains(text, []byte(old)) {
		t.Fatalf("%s does not have %q", name, old)
	}
	c, err := catalog.Read(t.Context(), fstest.MapFS{"f": {Data: bytes.Replace(text, []byte(old), []byte(new), 1)}}, catalog.Options{})
	fail.On(t, err)
	return c.Package(name)
}

// Channels that OLM would refuse are drawn in every form, with a note of what is wrong with them.
// So are unusual ones that it accepts.
func TestSurprisingPackages(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, "  - kubecost-operator.v0.0.%d\n", i)
	}
	const tail, head = "- name: jumpstarter-operator.v0.8.0\n", "- name: kubecost-operator.v2.8.2\n  skips:\n"
	for name, tc := range map[string]struct{ pkg, channel, old, new, says string }{
		"two heads":            {"jumpstarter-operator", "alpha", "  replaces: jumpstarter-operator.v0.9.0-rc.2\n", "", "OLM refuses this channel: it has several heads, jumpstarter-operator.v0.9.0, jumpstarter-operator.v0.9.0-rc.2"},
		"no head":              {"jumpstarter-operator", "alpha", tail, tail + "  replaces: jumpstarter-operator.v0.9.0\n", "OLM refuses this channel: it has no head"},
		"a cycle":              {"jumpstarter-operator", "alpha", tail, tail + "  replaces: jumpstarter-operator.v0.8.1\n", "its entries replace each other in a cycle, jumpstarter-operator.v0.8.1, jumpstarter-operator.v0.8.1-rc.1, jumpstarter-operator.v0.8.0, jumpstarter-operator.v0.8.1"},
		"invalid skipRange":    {"jumpstarter-operator", "alpha", "'>=0.8.1 <0.9.0-rc.1'", "'<v0.9.0-rc.1'", "the skipRange \"<v0.9.0-rc.1\" of jumpstarter-operator.v0.9.0-rc.1 is not a valid range and is ignored"},
		"10,000 skips":         {"kubecost-operator", "alpha", head, head + many.String(), "10,000 bundles"},
		"of another channel":   {"konflux-operator", "stable-v0.2", "", "", "konflux-operator.v0.1.13"},
		"equal precedence":     {"gatekeeper-operator-product", "3.11", "", "", "3.11.2+0.1718224960.p"},
		"a part behind a dash": {"habana-ai-operator", "stable", "", "", "1.22.2-32-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := realPackage(t, tc.pkg, tc.old, tc.new)
			d := draw(t, p, picture.Options{
				Channels:  []string{tc.channel},
				Installed: []graph.At{graph.Running(p.Bundles[0])},
			})
			for _, form := range diagram.Forms() {
				var b bytes.Buffer
				fail.On(t, diagram.Write(&b, d, diagram.Form(form)))
				if b.Len() > 2<<20 {
					t.Errorf("%s has %d bytes", form, b.Len())
				}
				if form == string(diagram.Text) && !strings.Contains(b.String(), tc.says) {
					t.Errorf("it does not say %q:\n%.3000s", tc.says, b.String())
				}
			}
		})
	}
}
