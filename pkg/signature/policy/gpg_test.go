package policy

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// openpgpKey makes a key, and returns it with its public half.
func openpgpKey(t *testing.T, name string) (*openpgp.Entity, []byte) {
	t.Helper()
	e, err := openpgp.NewEntity(name, "", name+"@example.com", nil)
	fail.On(t, err)
	var b bytes.Buffer
	fail.On(t, e.Serialize(&b))
	return e, b.Bytes()
}

// signSimple signs as podman and skopeo do.
func signSimple(t *testing.T, e *openpgp.Entity, payload string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := openpgp.Sign(&b, e, nil, nil)
	if err == nil {
		_, err = w.Write([]byte(payload))
	}
	if err == nil {
		err = w.Close()
	}
	fail.On(t, err)
	return b.Bytes()
}

func TestSignedBy(t *testing.T) {
	key, public := openpgpKey(t, "first")
	other, otherPublic := openpgpKey(t, "second")
	text := func(name string, d digest.Digest) string {
		return fmt.Sprintf(`{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":"atomic container signature"},"optional":{"creator":"x","timestamp":1,"more":[1]}}`, name, d)
	}
	good := text(repository+":v1", dImage)
	ref, err := reference.Parse(repository + ":v1")
	fail.On(t, err)
	files := map[string][]byte{"first": public, "second": otherPublic}
	want := "key " + fmt.Sprintf("%X", key.PrimaryKey.Fingerprint)
	damaged := signSimple(t, key, good)
	damaged[len(damaged)-1] ^= 1
	for name, tc := range map[string]struct {
		members string
		bodies  [][]byte
		want    string
	}{
		"path":           {`"keyPath":"first"`, [][]byte{signSimple(t, key, good)}, ""},
		"paths":          {`"keyPaths":["second","first"]`, [][]byte{signSimple(t, key, good)}, ""},
		"data":           {`"keyData":"` + base64.StdEncoding.EncodeToString(public) + `"`, [][]byte{signSimple(t, key, good)}, ""},
		"the second":     {`"keyPath":"first"`, [][]byte{signSimple(t, other, good), signSimple(t, key, good)}, ""},
		"none":           {`"keyPath":"first"`, nil, "signedBy requires a signature, and there is none"},
		"another key":    {`"keyPath":"second"`, [][]byte{signSimple(t, key, good)}, "not in keyring second"},
		"another image":  {`"keyPath":"first"`, [][]byte{signSimple(t, key, text(repository+":v1", digest.FromString("x")))}, "it signs another image"},
		"another tag":    {`"keyPath":"first"`, [][]byte{signSimple(t, key, text(repository+":v2", dImage))}, "the policy requires " + repository + ":v1"},
		"damaged":        {`"keyPath":"first"`, [][]byte{damaged}, "signature 1: "},
		"another format": {`"keyPath":"first"`, [][]byte{signSimple(t, key, `{"critical":{}}`)}, `type ""`},
		"not OpenPGP":    {`"keyPath":"first"`, [][]byte{[]byte("x")}, "not an OpenPGP message"},
	} {
		p := parse(t, docker("quay.io", `{"type":"signedBy","keyType":"GPGKeys",`+tc.members+`}`), files)
		v := Verifier{Policy: p, Finder: &found{simple: tc.bodies}, Now: func() time.Time { return time.Now().Add(time.Hour) }}
		signers, err := v.Verify(t.Context(), Image{Reference: ref, Digest: dImage})
		expect(t, name, signers, err, want, tc.want)
	}
}
