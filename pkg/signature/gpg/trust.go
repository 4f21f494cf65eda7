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

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// Trust lists the accepted keys and the stores where signatures are published.
type Trust struct {
	Keyrings []Keyring
	// Stores are addresses of folders, with the scheme http, https or file.
	Stores []string
}

// The keys that the products' payloads name in their release-verification ConfigMaps
// (openshift/cluster-update-keys).
var (
	//go:embed keys/redhat.asc
	redhat []byte // release key 2, and beta key 2 for candidates
	//go:embed keys/okd.asc
	okd []byte // the keys in use since 2023 and since 2025
)

// BuiltIn returns the default keys and stores of a product.
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
		return Trust{}, fmt.Errorf("no signing key is known for the product %q", product)
	}
	keyring, err := ParseKeyring(name, keys)
	return Trust{Keyrings: []Keyring{keyring}, Stores: stores}, err
}

const (
	keyPrefix   = "verifier-public-key-"
	storePrefix = "store-"
)

// Configuration returns the keys and stores that a payload defines for its cluster: the ConfigMap
// release-verification, in YAML or JSON, has a keyring under each key verifier-public-key-* and an
// address under each store-*. Other keys are ignored. Keyrings and stores keep the order of their
// keys. It is an error if either is missing.
func Configuration(configMap []byte) (Trust, error) {
	var object struct {
		Kind string            `json:"kind"`
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(configMap, &object); err != nil {
		return Trust{}, fmt.Errorf("reading the keys and stores of signatures: %w", err)
	}
	if object.Kind != "ConfigMap" {
		return Trust{}, fmt.Errorf("reading the keys and stores of signatures: kind %q, want ConfigMap", object.Kind)
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
		return Trust{}, fmt.Errorf("the ConfigMap has %d keys %s* and %d keys %s*; at least one of each is required", len(t.Keyrings), keyPrefix, len(t.Stores), storePrefix)
	}
	return t, nil
}

// CheckStore returns an error if the address of a store is invalid. Its text contains nothing that
// may be secret.
func CheckStore(store string) error {
	u, err := url.Parse(store)
	switch {
	case err != nil:
		return errors.New("the address of a signature store is malformed; write https://HOST/PATH, http://HOST/PATH or file:///PATH") // the cause would show it
	case u.User != nil:
		return fmt.Errorf("signature store %q: the address contains credentials; remove them", redact.Address(store))
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("signature store %q: the address must not have a query or a fragment", redact.Address(store))
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return nil
	case u.Scheme == "file" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		return nil
	}
	return fmt.Errorf("signature store %q: write https://HOST/PATH, http://HOST/PATH or file:///PATH", store)
}
