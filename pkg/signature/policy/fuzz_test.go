package policy

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// FuzzParse: a policy that is accepted judges an image without signatures, and accepts it only if it
// demands no signature. Parsing it again gives the same policy.
func FuzzParse(f *testing.F) {
	f.Add(`{"default":[{"type":"reject"}]}`)
	f.Add(`{"default":[{"type":"insecureAcceptAnything"}],"transports":{"docker":{"quay.io":[{"type":"reject"}]}}}`)
	f.Add(docker("quay.io", `{"type":"sigstoreSigned","keyPath":"k","signedIdentity":{"type":"remapIdentity","prefix":"a.b","signedPrefix":"c.d"}}`))
	f.Add(docker("quay.io", `{"type":"signedBy","keyType":"GPGKeys","keyData":"eA=="}`))
	ref, err := reference.Parse(repository + ":v1")
	fail.On(f, err)
	read := reading(map[string][]byte{"k": publicKey(ecOnce())})
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("p", []byte(text), read)
		if err != nil {
			return
		}
		again, err := Parse("p", []byte(text), read)
		if err != nil || again.Digest != p.Digest {
			t.Fatal(again, err)
		}
		img := Image{Reference: ref, Digest: dImage}
		v := Verifier{Policy: p, Finder: &found{}}
		signers, err := v.Verify(t.Context(), img)
		requirements, _ := p.requirements(img)
		if err == nil && len(signers) > 0 || len(requirements) == 0 {
			t.Fatalf("accepted by %v of %v", signers, requirements)
		}
		for _, r := range requirements {
			if err == nil && r.Type != AcceptAnything {
				t.Fatalf("accepted although %s", r.Type)
			}
		}
	})
}
