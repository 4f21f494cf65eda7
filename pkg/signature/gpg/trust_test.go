package gpg

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/release"
)

func TestBuiltIn(t *testing.T) {
	for product, want := range map[release.Product][]string{
		release.OCP: {"567E347AD0044ADE55BA8A5F199E2F91FD431D51", "B08B659EE86AF623BC90E8DB938A80CAF21541EB"},
		release.OKD: {"FE526D8F6FEDC123BE219E45CF4B45E2071F0337", "6A9588F07F2D3AE7973AD2A9193E53CCD2E2F7A4"},
	} {
		trust, err := BuiltIn(product)
		fail.On(t, err)
		if len(trust.Keyrings) != 1 {
			t.Fatalf("%s has %d keyrings", product, len(trust.Keyrings))
		}
		fail.Diff(t, want, trust.Keyrings[0].Fingerprints())
		if len(trust.Stores) == 0 {
			t.Errorf("%s has no store", product)
		}
		for _, store := range trust.Stores {
			if err := CheckStore(store); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := BuiltIn("microshift"); err == nil || !strings.Contains(err.Error(), `no signing key is known for the product "microshift"`) {
		t.Error(err)
	}
}

func TestParseKeyring(t *testing.T) {
	first, second := signers()[0], signers()[1]
	one, two := public(first.entity), public(second.entity)
	both := slices.Concat(first.keyring.Fingerprints(), second.keyring.Fingerprints())
	for name, text := range map[string][]byte{
		"binary":                   slices.Concat(one, two),
		"one block of two keys":    armored(t, openpgp.PublicKeyType, slices.Concat(one, two)),
		"two blocks":               slices.Concat(armored(t, openpgp.PublicKeyType, one), []byte("\n\n"), armored(t, openpgp.PublicKeyType, two)),
		"two blocks, text between": slices.Concat([]byte("first\n"), armored(t, openpgp.PublicKeyType, one), []byte("\nsecond:\n"), armored(t, openpgp.PublicKeyType, two)),
	} {
		k, err := ParseKeyring("k", text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		fail.Diff(t, both, k.Fingerprints())
	}

	var private bytes.Buffer
	fail.On(t, first.entity.SerializePrivate(&private, nil))
	for _, tc := range []struct {
		name string
		text []byte
		want string
	}{
		{"nothing", nil, "no OpenPGP key found"},
		{"text", []byte("key\n"), "reading keyring k: "},
		{"private", private.Bytes(), "private key"},
		{"private, armored", armored(t, openpgp.PrivateKeyType, private.Bytes()), "PGP PRIVATE KEY BLOCK"},
		{"cut short", armored(t, openpgp.PublicKeyType, one)[:600], "reading keyring k: "},
		{"a signature", first.sign(t, "x", signed, 0), "reading keyring k: "},
		{"large", make([]byte, maxKeyring+1), "more than 1048576 bytes"},
	} {
		if k, err := ParseKeyring("k", tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: want %q, got %v, %v", tc.name, tc.want, k.Fingerprints(), err)
		}
	}
}

// configMap returns a release-verification ConfigMap.
func configMap(t testing.TB, data map[string]string) []byte {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Keys\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: release-verification}\ndata:\n  release-repository-default: quay.io/org/release\n")
	for key, value := range data {
		fmt.Fprintf(&b, "  %s: |\n    %s\n", key, strings.ReplaceAll(strings.TrimSpace(value), "\n", "\n    "))
	}
	return []byte(b.String())
}

func TestConfiguration(t *testing.T) {
	first, second := signers()[0], signers()[1]
	data := map[string]string{
		"verifier-public-key-b": string(armored(t, openpgp.PublicKeyType, public(second.entity))),
		"verifier-public-key-a": string(armored(t, openpgp.PublicKeyType, public(first.entity))),
		"store-2":               "https://two.example.com/signatures\n",
		"store-1":               "file:///srv/signatures",
	}
	trust, err := Configuration(configMap(t, data))
	fail.On(t, err)
	fail.Diff(t, []string{"file:///srv/signatures", "https://two.example.com/signatures"}, trust.Stores)
	names := elements.Map(trust.Keyrings, func(k Keyring) string { return k.Name + " " + strings.Join(k.Fingerprints(), " ") })
	want := []string{"verifier-public-key-a " + first.keyring.Fingerprints()[0], "verifier-public-key-b " + second.keyring.Fingerprints()[0]}
	fail.Diff(t, want, names)

	for _, tc := range []struct {
		name       string
		key, value string // "" as value removes the key
		want       string
	}{
		{"a store elsewhere", "store-1", "ftp://example.com", `store-1: signature store "ftp://example.com": write https://`},
		{"a store on another machine", "store-1", "file://host/srv", "file:///PATH"},
		{"a store with a query", "store-1", "https://example.com/?a=b", "query"},
		{"a broken key", "verifier-public-key-a", "key", "reading keyring verifier-public-key-a"},
	} {
		changed := map[string]string{}
		maps.Copy(changed, data)
		changed[tc.key] = tc.value
		if _, err := Configuration(configMap(t, changed)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: want %q, got %v", tc.name, tc.want, err)
		}
	}
	for text, want := range map[string]string{
		"kind: Secret":                       `"Secret", want ConfigMap`,
		"kind: ConfigMap":                    "has 0 keys verifier-public-key-* and 0 keys store-*",
		"kind: [":                            "reading the keys and stores",
		"kind: ConfigMap\ndata: {store-1: {": "reading the keys and stores",
	} {
		if _, err := Configuration([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", text, want, err)
		}
	}
}

func TestCheckStore(t *testing.T) {
	for store, want := range map[string]string{
		"https://example.com/signatures": "",
		"http://example.com:8080":        "",
		"file:///srv/with%20space":       "",

		"https://user:secret@example.com/signatures": `"https://[redacted]@example.com/signatures": the address contains credentials`,
		"https://example.com/?token=secret":          `"https://example.com/?[redacted]": the address must not have a query`,
		"https://user:secret@example.com:port/":      "the address of a signature store is malformed",
		"ftp://example.com":                          "write https://HOST/PATH",
		"file://host/srv":                            "write https://HOST/PATH",
		"example.com/signatures":                     "write https://HOST/PATH",
	} {
		err := CheckStore(store)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", store, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: want %q, got %v", store, want, err)
		}
	}
}

func FuzzConfiguration(f *testing.F) {
	f.Add(configMap(f, map[string]string{"store-1": "https://example.com", "verifier-public-key-a": string(redhat)}))
	f.Add([]byte("kind: ConfigMap\ndata: {store-1: x, verifier-public-key-1: y}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		trust, err := Configuration(text)
		if err != nil {
			return
		}
		if len(trust.Stores) == 0 || len(trust.Keyrings) == 0 {
			t.Fatal("accepted without keys or stores")
		}
		for _, store := range trust.Stores {
			if err := CheckStore(store); err != nil {
				t.Error(err)
			}
		}
		for _, k := range trust.Keyrings {
			if len(k.Fingerprints()) == 0 {
				t.Errorf("keyring %s is empty", k.Name)
			}
		}
	})
}

// TestReal verifies published signatures with the key that payloads contain.
func TestReal(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "releases")
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Skipf("no real signatures: %v", err)
		}
		return text
	}
	trust, err := Configuration(read("keys/0000_90_cluster-update-keys_configmap.yaml"))
	fail.On(t, err)
	known, err := BuiltIn(release.OCP)
	fail.On(t, err)
	fail.Diff(t, known.Keyrings[0].Fingerprints(), trust.Keyrings[0].Fingerprints())
	const v4150 = digest.Digest("sha256:0da6316466d60a3a4535d5fed3589feb0391989982fba59d47d4c729912d6363")
	const v3 = digest.Digest("sha256:e3f12513a4b22a2d7c0e7c9207f52128113758d9d68c7d06b11a0ac7672966f7")
	body, old := read("signatures/"+release.SignaturePath(v4150, 1)), read("signatures/"+release.SignaturePath(v3, 1))
	for _, keyrings := range [][]Keyring{known.Keyrings, trust.Keyrings} {
		if err := verifyOne(body, v4150, keyrings, time.Now()); err != nil {
			t.Error(err)
		}
	}
	if err := verifyOne(body, v3, known.Keyrings, time.Now()); err == nil || !strings.Contains(err.Error(), "another image") {
		t.Error(err)
	}
	if err := verifyOne(body, v4150, []Keyring{signers()[0].keyring}, time.Now()); err == nil || !strings.Contains(err.Error(), "key 199E2F91FD431D51, which is not in keyring first") {
		t.Error(err)
	}
	t.Run("version 3", func(t *testing.T) {
		if _, err := clusterAccepts(old, redhat, v3, time.Now()); err != nil {
			t.Skipf("no real signature of version 3: %v", err)
		}
		if err := verifyOne(old, v3, known.Keyrings, time.Now()); err == nil || !strings.Contains(err.Error(), "version 3") {
			t.Error(err)
		}
	})
	all, err := filepath.Abs(filepath.Join(dir, "signatures"))
	fail.On(t, err)
	got, err := Collect(t.Context(), nil, []string{"file://" + filepath.ToSlash(all)}, v4150, known.Keyrings, time.Now())
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	s := got[0]
	if s.Key != "567E347AD0044ADE55BA8A5F199E2F91FD431D51" || s.Reference != "quay.io/openshift-release-dev/ocp-release:4.15.0-x86_64" ||
		!s.Created.Equal(time.Date(2024, 2, 26, 16, 0, 12, 0, time.UTC)) || !bytes.Equal(s.Body, body) {
		t.Errorf("%s by %s on %s", s.Reference, s.Key, s.Created)
	}
}

// Fingerprints returns the fingerprints of the primary keys in the order of the keyring, in upper
// case hexadecimal, as gpg prints them.
func (k Keyring) Fingerprints() []string {
	out := make([]string, len(k.entities))
	for i, e := range k.entities {
		out[i] = fingerprint(e.PrimaryKey)
	}
	return out
}
