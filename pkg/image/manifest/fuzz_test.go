package manifest

import (
	"encoding/json"
	"testing"
)

// FuzzTypeOf checks that the type of a manifest is its own, or else one of those that are known, or none.
func FuzzTypeOf(f *testing.F) {
	f.Add([]byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{},"layers":[]}`))
	f.Add([]byte(`{"schemaVersion":2,"manifests":[{"mediaType":"x"}]}`))
	f.Add([]byte(`{"schemaVersion":1,"fsLayers":[]}`))
	f.Add([]byte(`[[[[0,0,0,0]]]]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if CheckDensity(raw) != nil {
			return
		}
		var own struct{ MediaType string }
		_ = json.Unmarshal(raw, &own) // then, there is none
		if typ := TypeOf(raw); typ != own.MediaType && !Is(typ) {
			t.Errorf("the type is %q", typ)
		}
	})
}
