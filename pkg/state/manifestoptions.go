package state

// manifestFile has the options of each mirror's manifests.
const manifestFile = "manifests.json"

const damagedManifestOptions = "remove it; the next run writes it again, and needs Options.For and Options.ICSP again if they were set"

// ManifestOptions are how the manifests for a mirror were last written.
type ManifestOptions struct {
	// For is the resources.Target as the user gave it; "" if it is derived from the content.
	For                  string `json:"for,omitempty"`
	MirrorSourcePolicy   string `json:"mirrorSourcePolicy,omitempty"`
	ImagePolicies        string `json:"imagePolicies,omitempty"`
	ImagePolicyNamespace string `json:"imagePolicyNamespace,omitempty"`
	ICSP                 bool   `json:"icsp,omitempty"`
	// AliasOf is the mirror that this is another name of; "" if it is not.
	AliasOf string `json:"aliasOf,omitempty"`
	// PlainHTTP means that the mirror was reached by plain HTTP.
	PlainHTTP bool `json:"plainHTTP,omitempty"`
	// CA has the certificates, as PEM, that the user gave for the mirror. It has no private keys.
	CA string `json:"ca,omitempty"`
}

// ManifestOptions returns how the manifests for a mirror were last written; the zero value if they were
// not, or by a version that did not save it. The mirror has the same name as for Records.
func (w *Workspace) ManifestOptions(mirror string) (ManifestOptions, error) {
	all, err := w.AllManifestOptions()
	return all[mirror], err
}

// SaveManifestOptions saves how the manifests for a mirror were written.
func (w *Workspace) SaveManifestOptions(mirror string, o ManifestOptions) error {
	return setInMap(w, manifestFile, damagedManifestOptions, mirror, o)
}

// AllManifestOptions returns the options of all mirrors, by mirror.
func (w *Workspace) AllManifestOptions() (map[string]ManifestOptions, error) {
	return readMap[ManifestOptions](w, manifestFile, damagedManifestOptions)
}
