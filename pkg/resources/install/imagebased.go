package install

const (
	imageBasedSource   = "https://github.com/openshift/installer/blob/main/pkg/types/imagebased/imagebased_config_types.go"
	imageClusterSource = "https://github.com/openshift/image-based-install-operator/blob/main/api/v1alpha1/imageclusterinstall_types.go"
	imageBasedCA       = "mirror-ca"
)

type imageBasedConfig struct {
	APIVersion string         `yaml:"apiVersion"`
	Kind       string         `yaml:"kind"`
	Metadata   objectMeta     `yaml:"metadata"`
	Digests    []digestSource `yaml:"imageDigestSources"`
	CA         string         `yaml:"additionalTrustBundle,omitempty"`
}

type imageClusterInstallPatch struct {
	Spec struct {
		ImageSet localRef       `yaml:"imageSetRef"`
		Digests  []digestSource `yaml:"imageDigestSources"`
		CA       *localRef      `yaml:"caBundleRef,omitempty"`
	} `yaml:"spec"`
}

// imageBased writes the fields for the installation of a seed image, and for the configuration of the cluster
// that is made from it.
func (w *writer) imageBased() {
	comment := []string{"Add the rest of the fields: seedImage, seedVersion, installationDisk, pullSecret. Fields: " + imageBasedSource}
	if len(w.in.CA) == 0 {
		comment = append(comment, caHint...)
	}
	w.yaml("image-based/image-based-installation-config.yaml", comment, imageBasedConfig{
		"v1beta1", "ImageBasedInstallationConfig", objectMeta{Name: "image-based-installation-config"},
		w.withPolicies(w.digestSources(), func(d *digestSource, policy string) { d.Policy = policy }), string(w.in.CA),
	})
	var patch imageClusterInstallPatch
	patch.Spec.ImageSet.Name = w.releases[0].objectName()
	patch.Spec.Digests = w.withPolicies(w.digestSources(), func(d *digestSource, policy string) { d.MirrorPolicy = policy })
	comment = []string{
		"oc patch imageclusterinstall NAME --type merge --patch-file image-cluster-install-patch.yaml",
		"imageSetRef is the newest release of the mirror, and has to be the one of the seed image. Fields: " + imageClusterSource,
	}
	if len(w.in.CA) > 0 {
		patch.Spec.CA = &localRef{imageBasedCA}
		w.yaml("image-based/mirror-ca.yaml", []string{
			"Apply this in the namespace of the ImageClusterInstall. It replaces all CAs of the host: add the others that it needs.",
			"Fields: " + imageClusterSource,
		}, configMap{"v1", "ConfigMap", objectMeta{Name: imageBasedCA}, map[string]string{"tls-ca-bundle.pem": string(w.in.CA)}})
	} else {
		comment = append(comment, "caBundleRef.name is a ConfigMap with the key tls-ca-bundle.pem: all CAs that the host trusts, with the one of the mirror.")
	}
	w.yaml("image-based/image-cluster-install-patch.yaml", comment, patch)
}
