package hosts

import "github.com/gantry-mirror/gantry/pkg/resources"

// Names of OLM v1 as it is released for Kubernetes, and of what is added to it:
// https://github.com/operator-framework/operator-controller/blob/main/manifests/standard.yaml
const (
	olmNamespace  = "olmv1-system"
	olmController = "operator-controller-controller-manager"
	olmCatalogd   = "catalogd-controller-manager"
	olmContainer  = "manager"
	olmConfig     = "mirror-registries-conf"
	olmCA         = "mirror-ca"
	// olmCAFolder is mounted in addition to the certificates of the system. Go reads all folders of SSL_CERT_DIR:
	// https://pkg.go.dev/crypto/x509#SystemCertPool
	olmCAFolder = "/etc/mirror-ca"
)

type configMap struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Metadata   objectMeta        `yaml:"metadata"`
	Data       map[string]string `yaml:"data"`
}

type objectMeta struct {
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace,omitempty"`
}

// A deploymentPatch adds volumes to a deployment.
type deploymentPatch struct {
	Spec struct {
		Template struct {
			Spec podSpec `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type podSpec struct {
	Containers []container `yaml:"containers"`
	Volumes    []volume    `yaml:"volumes"`
}

type container struct {
	Name         string  `yaml:"name"`
	Env          []env   `yaml:"env,omitempty"`
	VolumeMounts []mount `yaml:"volumeMounts"`
}

type env struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

type mount struct {
	Name      string `yaml:"name"`
	MountPath string `yaml:"mountPath"`
	ReadOnly  bool   `yaml:"readOnly"`
}

type volume struct {
	Name      string     `yaml:"name"`
	ConfigMap objectMeta `yaml:"configMap"`
}

// addOLM writes what OLM v1 needs on Kubernetes. Its operator-controller pulls bundles itself, by the names
// in the catalog, and no runtime redirects it: it reads registries.conf in its own container. The catalogs
// are requested from the mirror by name.
func addOLM(in Input, add func(string, []byte)) error {
	folder := func(name, path string) (mount, volume) {
		return mount{name, path, true}, volume{name, objectMeta{Name: name}}
	}
	object := func(name, key string, text []byte) configMap {
		return configMap{"v1", "ConfigMap", objectMeta{name, olmNamespace}, map[string]string{key: string(text)}}
	}
	patch := func(config bool) (d deploymentPatch) {
		c := container{Name: olmContainer}
		pod := &d.Spec.Template.Spec
		if config {
			m, v := folder(olmConfig, "/etc/containers")
			c.VolumeMounts, pod.Volumes = append(c.VolumeMounts, m), append(pod.Volumes, v)
		}
		if len(in.CA) > 0 {
			m, v := folder(olmCA, olmCAFolder)
			c.VolumeMounts, pod.Volumes = append(c.VolumeMounts, m), append(pod.Volumes, v)
			c.Env = []env{{"SSL_CERT_DIR", "/etc/ssl/certs:/etc/pki/tls/certs:" + olmCAFolder}}
		}
		pod.Containers = []container{c}
		return d
	}
	write := func(name, head string, v any) error {
		text, err := resources.EncodeYAML(v)
		add("olm-v1/"+name, append([]byte(head), text...))
		return err
	}
	const source = "# Fields: https://github.com/operator-framework/operator-controller/blob/main/manifests/standard.yaml\n"
	apply := func(name string) string { return "# kubectl apply -f " + name + "\n" }
	patchHead := func(name, deployment string) string {
		return "# kubectl -n " + olmNamespace + " patch deployment " + deployment + " --patch-file " + name + "\n" + source
	}
	err := write("registries-conf.yaml", apply("registries-conf.yaml"), object(olmConfig, "registries.conf", resources.RegistriesConf(in.Mirrors, in.PlainHTTP)))
	if err == nil {
		err = write("operator-controller-patch.yaml", patchHead("operator-controller-patch.yaml", olmController), patch(true))
	}
	if err == nil && len(in.CA) > 0 {
		if err = write("mirror-ca.yaml", apply("mirror-ca.yaml"), object(olmCA, "ca.crt", in.CA)); err == nil {
			err = write("catalogd-patch.yaml", patchHead("catalogd-patch.yaml", olmCatalogd), patch(false))
		}
	}
	return err
}
