package imageset

import (
	"maps"
	"strings"
)

// examples are values of text fields, for editors, by the end of the field's path: the longest that fits has them.
func examples() map[string][]any {
	return map[string][]any{
		"catalog":       {"registry.redhat.io/redhat/redhat-operator-index:v4.20", "quay.io/org/catalog:v1", "oci:///srv/catalog", "dir://catalogs"},
		"targetCatalog": {"redhat/redhat-operator-index"}, "targetTag": {"v4.20"}, "targetRepo": {"org/app"},
		"targetCatalogSourceTemplate": {"catalogsource.yaml"}, "targetClusterCatalogTemplate": {"clustercatalog.yaml"},
		"packages[].name": {"my-operator"}, "defaultChannel": {"stable"}, "packages[].channels[].name": {"stable"}, "bundles[].name": {"my-operator.v1.2.3"},
		"minVersion": {"1.2.0"}, "maxVersion": {"1.2.3"}, "installed[].package": {"my-operator"}, "installed[].bundle": {"my-operator.v1.2.3"},
		"installed[].version": {"1.2.3"}, "installed[].channel": {"stable"},
		"platform.channels[].name": {"stable-4.20", "eus-4.20"}, "platform.channels[].minVersion": {"4.20.1"}, "platform.channels[].maxVersion": {"4.20.5"},
		"from[]": {"4.18.20"}, "accept[]": {"OVNKubernetesMasterDSPrestop"}, "forbid[]": {"OVNKubernetesMasterDSPrestop"},
		"platform.release": {"quay.io/openshift-release-dev/ocp-release:4.20.5-x86_64"}, "graphData": {"graph-data.tar.gz"},
		"updateService": {"https://updates.example.com/graph"}, "signatureStores[]": {"https://signatures.example.com/release", "file:///srv/signatures"},
		"signatureKeys[]": {"keys/release.asc"}, "bootImages[]": {"metal/iso"},
		"additionalImages[].name": {"quay.io/org/app:v1", "oci:///srv/images/app"}, "tags.regex": {`^v1\.`}, "tags.semver": {">=1.2 <2"}, "tags.exclude[]": {"-rc"},
		"newerThan": {"30d", "2026-01-31"}, "olderThan": {"7d"}, "blockedImages[].name": {"^quay.io/org/app:"}, "samples[].name": {"ruby", "ruby*"},
		"files[].path": {"bin/tool"}, "files[].url": {"https://example.com/pub/tool.tar.gz"}, "files[].target": {"tools/tool.tar.gz"},
		"sha256":              {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		"repositories[].name": {"podinfo"}, "repositories[].url": {"https://charts.example.com/stable"}, "charts[].name": {"podinfo"}, "local[].name": {"podinfo"},
		"version": {"6.5.0"}, "versions": {">=6.5 <7"}, "path": {"charts/podinfo-6.5.0.tgz"}, "valuesFiles[]": {"values.yaml"}, "imagePaths[]": {"{.spec.image}"},
		"kubeVersion": {"1.33"}, "apiVersions[]": {"monitoring.coreos.com/v1"}, "minAge": {"3d", "2w", "72h"},
	}
}

// withExamples returns the shape of the field at a path with examples in it and the fields below it.
func (s shape) withExamples(path string, all map[string][]any) shape {
	best := -1
	for end, values := range all {
		if s.isText() && s.Enum == nil && len(end) > best && (path == end || strings.HasSuffix(path, "."+end)) {
			best, s.Examples = len(end), values
		}
	}
	s.Properties = maps.Clone(s.Properties)
	for name, property := range s.Properties {
		s.Properties[name] = property.withExamples(join(path, name), all)
	}
	if s.Items != nil {
		items := s.Items.withExamples(path+"[]", all)
		s.Items = &items
	}
	return s
}
