package proof

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
)

func TestKeysVerify(t *testing.T) {
	var keys [2]*releasetest.Keys
	var signed, other [2][]byte
	d := digest.FromString("4.20.2")
	for i := range keys {
		var err error
		if keys[i], err = releasetest.NewKeys(); err != nil {
			t.Fatal(err)
		}
		if signed[i], err = keys[i].Sign("example.com/r:4.20.2-x86_64", d); err != nil {
			t.Fatal(err)
		}
		if other[i], err = keys[i].Sign("example.com/r:4.20.2-x86_64", digest.FromString("4.20.1")); err != nil {
			t.Fatal(err)
		}
	}
	configMap := func(data map[string]string) Keys {
		t.Helper()
		text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": data})
		fail.On(t, err)
		return text
	}
	first, second := string(keys[0].OpenPGP), string(keys[1].OpenPGP)
	const a, b, store, address = "verifier-public-key-a", "verifier-public-key-b", "store-a", "https://signatures.example.com"
	one := configMap(map[string]string{store: address, a: first})
	either := configMap(map[string]string{store: address, a: first + second})
	both := configMap(map[string]string{store: address, a: first, b: second})
	for _, test := range []struct {
		name       string
		keys       Keys
		signatures [][]byte
		want       string
	}{
		{"of the key", one, [][]byte{signed[0]}, ""},
		{"of another key", one, [][]byte{signed[1]}, "which is not in keyring " + a},
		{"of both keys", one, [][]byte{signed[1], signed[0]}, ""},
		{"of another image", one, [][]byte{other[0]}, "signs another image"},
		{"none", one, nil, "no signature satisfies the keyring " + a},
		{"of the old key, after it was changed", either, [][]byte{signed[0]}, ""},
		{"of the new key, after it was changed", either, [][]byte{signed[1]}, ""},
		{"of one of two keyrings", both, [][]byte{signed[0]}, "no signature satisfies the keyring " + b},
		{"of both keyrings", both, [][]byte{signed[0], signed[1]}, ""},
		{"with an invalid key", configMap(map[string]string{store: address, a: "x"}), [][]byte{signed[0]}, "reading keyring " + a},
		{"without keys", configMap(map[string]string{store: address}), [][]byte{signed[0]}, "the ConfigMap has 0 keys"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.keys.Verify(d, test.signatures, time.Now())
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}
