package resources

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// skeletonDir is the folder of files that users complete and apply themselves.
const skeletonDir = "skeletons"

// IsSkeleton reports whether a file with this name is one that users complete.
func IsSkeleton(name string) bool { return path.Base(path.Dir(name)) == skeletonDir }

// caConfigMap is the name of the ConfigMap with the CA of the mirror.
const caConfigMap = "mirror-ca"

// defaultCatalogs are the ClusterCatalogs that OpenShift creates, with the repositories of their images.
//
// https://docs.redhat.com/en/documentation/openshift_container_platform/4.20/html/extensions/catalogs
var defaultCatalogs = [][2]string{
	{"openshift-certified-operators", "registry.redhat.io/redhat/certified-operator-index"},
	{"openshift-community-operators", "registry.redhat.io/redhat/community-operator-index"},
	{"openshift-redhat-marketplace", "registry.redhat.io/redhat/redhat-marketplace-index"},
	{"openshift-redhat-operators", "registry.redhat.io/redhat/redhat-operator-index"},
}

// DefaultCatalogs returns the objects of the component disable-default-catalogs. OperatorHub turns off
// the CatalogSources of the Internet. A ClusterCatalog of OpenShift becomes unavailable; since the object
// must name its image, whose tag is the version of the cluster, they are written only for clusters with
// a known version that have OLM v1.
func DefaultCatalogs(t Target) (map[string][]File, error) {
	if t.Kubernetes {
		return nil, nil
	}
	hub := map[string]any{
		"apiVersion": "config.openshift.io/v1", "kind": "OperatorHub", "metadata": objectName{"cluster"},
		"spec": map[string]any{"disableAllDefaultSources": true},
	}
	text, err := encode(hub)
	if err != nil {
		return nil, fmt.Errorf("writing OperatorHub: %w", err)
	}
	files := []File{{"operatorhub.yaml", text}}
	if t.Version.Compare(OpenShiftVersion{4, 18}) >= 0 {
		for _, c := range defaultCatalogs {
			m := clusterCatalogManifest{APIVersion: clusterCatalogVersion, Kind: "ClusterCatalog", Metadata: objectMeta{Name: c[0]}}
			m.Spec.AvailabilityMode = "Unavailable"
			m.Spec.Source.Type = "Image"
			m.Spec.Source.Image.Ref = c[1] + ":v" + t.Version.String()
			m.Spec.Source.Image.PollIntervalMinutes = 10
			if text, err = encode(m); err != nil {
				return nil, fmt.Errorf("writing ClusterCatalog %s: %w", c[0], err)
			}
			files = append(files, File{c[0] + ".yaml", text})
		}
	}
	return map[string][]File{disableCatalogs: files}, nil
}

// caKey returns the key of a registry in the ConfigMap of additionalTrustedCA: its port follows two dots.
// It is "" if a ConfigMap cannot have the key.
func caKey(host string) string {
	key := strings.Replace(host, ":", "..", 1)
	if strings.ContainsAny(key, ":[]") {
		return ""
	}
	return key
}

// TrustedCA returns the files of the component trusted-ca for a registry: a ConfigMap is generated from
// the file ca.crt, and image.config.openshift.io names it. The update service reads the CA from a key of
// its own. Without ca, the file is one that the user puts into the folder.
func TrustedCA(host string, ca []byte) (map[string][]File, error) {
	key := caKey(host)
	if key == "" {
		return nil, nil
	}
	image, err := encode(map[string]any{
		"apiVersion": "config.openshift.io/v1", "kind": "Image", "metadata": objectName{"cluster"},
		"spec": map[string]any{"additionalTrustedCA": objectName{caConfigMap}},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the configuration of images: %w", err)
	}
	kustomization := fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources:
- image-config.yaml
configMapGenerator:
- name: %s
  namespace: openshift-config
  files:
  - %s=ca.crt
  - updateservice-registry=ca.crt
  options:
    disableNameSuffixHash: true
`, caConfigMap, key)
	files := []File{{"image-config.yaml", image}, {componentFile, []byte(kustomization)}}
	if len(ca) > 0 {
		files = append(files, File{path.Base(CAFile), ca})
	}
	return map[string][]File{trustedCA: files}, nil
}

// CAFile is the file with the CA of the mirror, in PEM, that the component trusted-ca needs.
const CAFile = componentDir + "/" + trustedCA + "/ca.crt"

// WithoutCA is the argument of Kustomize for a folder without CAFile.
func WithoutCA() map[string]string {
	return map[string]string{trustedCA: "needs the CA of the mirror: put it into " + CAFile + ", and write the files again"}
}

// Skeletons returns files in a folder of their own that users complete, for a registry. They contain no
// secrets, and no Kustomization names them: applied as they are, they would break a cluster.
func Skeletons(host string) ([]File, error) {
	const login = "BASE64-OF-USER:PASSWORD"
	config, err := json.MarshalIndent(map[string]any{"auths": map[string]any{host: map[string]string{"auth": login}}}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the skeleton of a pull secret: %w", err)
	}
	config = append(config, '\n')
	secret, err := encode(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson", "metadata": objectMeta{Name: "mirror-pull-secret", Namespace: "NAMESPACE"},
		"stringData": map[string]string{".dockerconfigjson": string(config)},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the skeleton of a pull secret: %w", err)
	}
	files := []File{{path.Join(skeletonDir, "pull-secret.json"), config}, {path.Join(skeletonDir, "pull-secret.yaml"), secret}}
	key := caKey(host)
	if key == "" {
		return files, nil
	}
	const pem = "-----BEGIN CERTIFICATE-----\nCERTIFICATE OF THE CA\n-----END CERTIFICATE-----\n"
	ca, err := encode(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": objectMeta{Name: caConfigMap, Namespace: "openshift-config"},
		"data": map[string]string{key: pem, "updateservice-registry": pem},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the skeleton of a CA: %w", err)
	}
	return append(files, File{path.Join(skeletonDir, caConfigMap+".yaml"), ca}), nil
}
