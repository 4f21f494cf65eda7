package signing

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

const smallPlan = `{"kind": "GantryPlan", "version": 1, "name": "x", "totals": {"images": 0, "manifests": 0, "blobs": 0, "bytes": 0}, "images": [], "manifests": [], "blobs": []}`

// TestReadCompressedPlan checks that a compressed plan has the digest of its text, and that a damaged one is refused.
func TestReadCompressedPlan(t *testing.T) {
	t.Parallel()
	text := []byte(smallPlan)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	fail.On(t, z.Close())
	file := filepath.Join(t.TempDir(), "plan.json.gz")
	write := func(text []byte) {
		t.Helper()
		fail.On(t, os.WriteFile(file, text, 0o600))
	}
	for _, whole := range [][]byte{text, b.Bytes()} {
		write(whole)
		p, sum, err := readPlan(file)
		if err != nil || p.Name != "x" || sum != digest.FromBytes(text) {
			t.Errorf("the plan %+v, %s: %v", p, sum, err)
		}
	}
	altered := bytes.Clone(b.Bytes())
	altered[len(altered)-6] ^= 1 // in the checksum
	for name, damaged := range map[string][]byte{"cut": b.Bytes()[:b.Len()-1], "half": b.Bytes()[:b.Len()/2], "header": b.Bytes()[:3], "altered": altered, "empty": {}} {
		write(damaged)
		if _, _, err := readPlan(file); advice.KindOf(err) != advice.Input {
			t.Errorf("%s: %v", name, err)
		}
	}
}
