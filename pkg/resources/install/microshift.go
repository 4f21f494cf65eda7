package install

const microShiftSource = "https://docs.redhat.com/en/documentation/red_hat_build_of_microshift/4.16/html/installing/microshift-deploy-with-mirror-registry"

// microShiftPolicy accepts images without signatures. The policy of RHEL requires signatures of Red Hat's
// images, and looks for those of a mirror on the host alone.
const microShiftPolicy = `{
    "default": [
        {
            "type": "insecureAcceptAnything"
        }
    ]
}
`

type registriesD struct {
	Docker map[string]signatureStore `yaml:"docker"`
}

type signatureStore struct {
	Attachments bool `yaml:"use-sigstore-attachments"`
}

// microShift writes the files of a host with MicroShift. CRI-O reads all of them.
func (w *writer) microShift() {
	w.text("microshift/registries.conf.d/999-microshift-mirror.conf", comments([]string{
		"Copy to /etc/containers/registries.conf.d/. " + microShiftSource,
		"Fields: https://github.com/containers/image/blob/main/docs/containers-registries.conf.5.md",
	})+"\n"+w.registriesConf())
	w.yaml("microshift/registries.d/mirror.yaml", []string{
		"Copy to /etc/containers/registries.d/: sigstore signatures are beside the images in the mirror.",
		"Fields: https://github.com/containers/image/blob/main/docs/containers-registries.d.5.md",
	}, registriesD{map[string]signatureStore{w.in.Host: {true}}})
	w.text("microshift/policy.json", microShiftPolicy)
	if len(w.in.CA) > 0 {
		w.text("microshift/mirror-ca.crt", string(w.in.CA))
	}
}
