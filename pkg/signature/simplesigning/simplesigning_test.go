package simplesigning

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestRead(t *testing.T) {
	t.Parallel()
	d := digest.FromString("an image")
	good := `{"critical":{"type":"` + Cosign + `","image":{"docker-manifest-digest":"` + d.String() + `"},"identity":{"docker-reference":"quay.io/a/b:v1"}},"optional":{"any":[1]}}`
	name, got, err := Read([]byte(good), Cosign)
	if err != nil || name != "quay.io/a/b:v1" || got != d {
		t.Errorf("%q, %s, %v", name, got, err)
	}
	for text, want := range map[string]string{
		"":                                      "reading the signed text",
		`{}`:                                    "critical is missing",
		`{"critical":{}}`:                       `type ""`,
		`{"critical":null}`:                     `type ""`,
		strings.Replace(good, "1]}", "1]},", 1): "reading the signed text",
		strings.Replace(good, `"type"`, `"a":1,"type"`, 1): `"a"`,
		strings.Replace(good, `"optional"`, `"other"`, 1):  `"other"`,
		strings.Replace(good, Cosign, OpenPGP, 1):          `type "atomic container signature", want "cosign container image signature"`,
		strings.Replace(good, "sha256:", "", 1):            "which is not a digest",
	} {
		if _, _, err := Read([]byte(text), Cosign); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// FuzzRead: an accepted text is written and read back equal.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"critical":{"type":"` + Cosign + `","image":{"docker-manifest-digest":"` + digest.FromString("a").String() + `"},"identity":{"docker-reference":"quay.io/a/b:v1"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		name, d, err := Read(text, Cosign)
		if err != nil {
			return
		}
		written, err := json.Marshal(map[string]any{"critical": map[string]any{
			"type": Cosign, "identity": map[string]string{"docker-reference": name}, "image": map[string]string{"docker-manifest-digest": d.String()},
		}})
		fail.On(t, err)
		againName, againD, err := Read(written, Cosign)
		if err != nil || againName != name || againD != d {
			t.Errorf("%q %q became %q %q: %v", name, d, againName, againD, err)
		}
	})
}
