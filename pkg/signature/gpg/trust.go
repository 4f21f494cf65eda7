package gpg

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// Trust is whose signatures count, and where they are published.
type Trust struct {
	Keyrings []Keyring
	// Stores are addresses of folders, with the scheme http, https or file.
	Stores []string
}

// The keys that the products' payloads name in their release-verification
// ConfigMaps (openshift/cluster-update-keys).
var (
	//go:embed keys/redhat.asc
	redhat []byte // release key 2, and beta key 2 for candidates
	//go:embed keys/okd.asc
	okd []byte // the keys that sign since 2023 and since 2025
)

// BuiltIn is the trust for a product that the configuration says nothing about.
func BuiltIn(product release.Product) (Trust, error) {
	var name string
	var keys []byte
	var stores []string
	switch product {
	case release.OCP:
		name, keys = "verifier-public-key-redhat", redhat
		stores = []string{
			"https://mirror.openshift.com/pub/openshift-v4/signatures/openshift/release",
			"https://storage.googleapis.com/openshift-release/official/signatures/openshift/release",
		}
	case release.OKD:
		name, keys = "verifier-public-key-ci", okd
		stores = []string{"https://storage.googleapis.com/openshift-ci-release/releases/signatures/openshift/release"}
	default:
		return Trust{}, fmt.Errorf("no signing key is known for the product %q; name a keyring and a store of signatures", product)
	}
	keyring, err := ParseKeyring(name, keys)
	return Trust{Keyrings: []Keyring{keyring}, Stores: stores}, err
}

const (
	keyPrefix   = "verifier-public-key-"
	storePrefix = "store-"
)

// Configuration reads the trust that a payload brings for the cluster that runs it:
// its ConfigMap release-verification, YAML or JSON, with a keyring under each key
// verifier-public-key-* and an address under each store-*. Other keys are left
// alone. Keyrings and stores are in the order of their keys. It is an error if
// either is missing.
func Configuration(configMap []byte) (Trust, error) {
	var object struct {
		Kind string            `json:"kind"`
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(configMap, &object); err != nil {
		return Trust{}, fmt.Errorf("reading the keys and stores of signatures: %w", err)
	}
	if object.Kind != "ConfigMap" {
		return Trust{}, fmt.Errorf("reading the keys and stores of signatures: the object is a %q, want a ConfigMap", object.Kind)
	}
	var t Trust
	for _, key := range slices.Sorted(maps.Keys(object.Data)) {
		value := object.Data[key]
		switch {
		case strings.HasPrefix(key, keyPrefix):
			keyring, err := ParseKeyring(key, []byte(value))
			if err != nil {
				return Trust{}, err
			}
			t.Keyrings = append(t.Keyrings, keyring)
		case strings.HasPrefix(key, storePrefix):
			store := strings.TrimSpace(value)
			if err := CheckStore(store); err != nil {
				return Trust{}, fmt.Errorf("%s: %w", key, err)
			}
			t.Stores = append(t.Stores, store)
		}
	}
	if len(t.Keyrings) == 0 || len(t.Stores) == 0 {
		return Trust{}, fmt.Errorf("the ConfigMap has %d keys %s* and %d keys %s*; it needs one of each at least", len(t.Keyrings), keyPrefix, len(t.Stores), storePrefix)
	}
	return t, nil
}

// CheckStore reports what is wrong with the address of a store. Errors show nothing
// of it that may be secret.
func CheckStore(store string) error {
	u, err := url.Parse(store)
	switch {
	case err != nil:
		return errors.New("the address of a store of signatures is malformed: want https://HOST/PATH, http://HOST/PATH or file:///PATH") // the cause shows it
	case u.User != nil:
		u.RawQuery, u.Fragment = "", ""
		return fmt.Errorf("the store of signatures %q: the address holds credentials, which are not sent; give it without", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		u.RawQuery, u.Fragment = "", ""
		return fmt.Errorf("the store of signatures %q: neither a query nor a fragment can be part of the address", u)
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return nil
	case u.Scheme == "file" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		return nil
	}
	return fmt.Errorf("the store of signatures %q: want https://HOST/PATH, http://HOST/PATH or file:///PATH", store)
}
