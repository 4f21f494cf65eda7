package imageset

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
)

func helmObject() object[Helm] {
	return object[Helm]{
		fields: []field[Helm]{
			list("repositories", "Chart repositories.", func(h *Helm) *[]HelmRepository { return &h.Repositories },
				func(v *HelmRepository) *Position { return &v.Pos }, object[HelmRepository]{
					fields: []field[HelmRepository]{
						text("name", "The name of the repository.", func(v *HelmRepository) *string { return &v.Name }, grammar{}),
						must(text("url", "The address of the repository: http or https, or oci for charts in a registry.", func(v *HelmRepository) *string { return &v.URL }, repositoryURL())),
						list("charts", "The charts to mirror; every version of all charts if omitted.", func(v *HelmRepository) *[]Chart { return &v.Charts },
							func(c *Chart) *Position { return &c.Pos }, chartObject("name")),
					},
					check: checkRepository,
				}),
			list("local", "Charts in files or folders.", func(h *Helm) *[]Chart { return &h.Local },
				func(c *Chart) *Position { return &c.Pos }, chartObject("path")),
		},
		renamed: map[string]string{"repos": "repositories"},
	}
}

// checkRepository reports a registry without charts: it has no index that lists them.
func checkRepository(r *reader, path string, v *HelmRepository) {
	if strings.HasPrefix(v.URL, ociScheme) && len(v.Charts) == 0 {
		r.unusable(path, "a registry has no list of its charts", "list the names under charts")
	}
}

// maxChartVersions is the largest number of newest versions.
const maxChartVersions = 1000

// chartObject is an entry of charts, which have a name, or of local, which have a path.
func chartObject(required string) object[Chart] {
	o := object[Chart]{
		fields: []field[Chart]{
			text("name", "The name of the chart.", func(c *Chart) *string { return &c.Name }, grammar{}),
			text("version", "The version of the chart, or a range whose newest version is mirrored; the newest version if omitted.",
				func(c *Chart) *string { return &c.Version }, chartRange().lateIn()),
			text("versions", "A range of versions such as \">=1.2.0 <2.0.0\", which are all mirrored; \"*\" is every version.",
				func(c *Chart) *string { return &c.Versions }, chartRange()),
			number("newest", "Mirror only this many of the newest versions.", maxChartVersions, func(c *Chart) *int64 { return &c.Newest }),
			text("path", "The path of the chart, a folder or an archive, relative to the working directory.", func(c *Chart) *string { return &c.Path }, grammar{}),
			mapping("values", "The values that the chart is rendered with, to find its images.", func(c *Chart) *[]byte { return (*[]byte)(&c.Values) }),
			names("valuesFiles", "Files of values that the chart is rendered with, relative to the working directory.",
				func(c *Chart) *[]string { return &c.ValuesFiles }, grammar{}),
			text("kubeVersion", "The version of Kubernetes that the chart is rendered for.", func(c *Chart) *string { return &c.KubeVersion }, kubeVersion()),
			names("apiVersions", "API versions that the chart is rendered for, such as monitoring.coreos.com/v1, in addition to those of Kubernetes.",
				func(c *Chart) *[]string { return &c.APIVersions }, name()),
			names("imagePaths", "JSON paths of images in the rendered chart, in addition to the usual ones.",
				func(c *Chart) *[]string { return &c.ImagePaths }, grammar{spaces: true}),
			text("scan", "Where images are searched: containers (pod templates), fields (also fields of custom resources that look like images), or complete (also arguments, variables, annotations and configuration text; the default).",
				func(c *Chart) *string { return &c.Scan }, oneOf("value", []string{ScanContainers, ScanFields, ScanComplete}, nil)),
			list("platforms", "Mirror only these platforms of the chart's multi-platform images.",
				func(c *Chart) *[]Platform { return &c.Platforms }, func(p *Platform) *Position { return &p.Pos }, platformObject()),
			platformsMode(func(c *Chart) *string { return &c.PlatformsMode }),
		},
		check: func(r *reader, path string, c *Chart) {
			c.Platforms = checkPlatforms(r, path, c.Platforms)
			checkPlatformsMode(r, path, c.PlatformsMode, c.Platforms)
			if c.Version != "" && (c.Versions != "" || c.Newest > 0) {
				r.fault(join(path, "version"), "version cannot be combined with versions or newest: it selects one version", "remove one of them")
			}
			if required == "path" && (c.Versions != "" || c.Newest > 0) {
				r.fault(path, "a local chart has one version", "remove versions and newest")
			}
		},
	}
	for i := range o.fields {
		o.fields[i].required = o.fields[i].name == required
	}
	return o
}

// repositoryURL is the grammar of the address of a chart repository. oc mirror reads any text.
func repositoryURL() grammar {
	return grammar{check: func(s string) (string, string) {
		u, err := url.Parse(s)
		switch {
		case err != nil, u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "oci", u.Host == "":
			return quote(redact.Address(s)) + " is not the address of a chart repository", "write https://HOST/PATH, or oci://HOST/PATH for charts in a registry"
		case u.User != nil:
			return "the address contains a user or password", fmt.Sprintf("remove it, and add it for %s to the file of credentials", u.Host)
		}
		return "", ""
	}}.lateIn()
}

// chartRange is the grammar of a version or a range of versions, as Helm reads it.
func chartRange() grammar {
	return grammar{max: 256, check: func(s string) (string, string) {
		if _, err := semver.NewConstraint(s); err != nil {
			return quote(s) + " is neither a version nor a range of versions", "write 1.2.3, or a range such as \">=1.2.0 <2.0.0\""
		}
		return "", ""
	}}
}

// kubeVersion is the grammar of a version of Kubernetes.
func kubeVersion() grammar {
	return grammar{max: 64, check: func(s string) (string, string) {
		if _, err := semver.NewVersion(s); err != nil {
			return quote(s) + " is not a version of Kubernetes", "write it as 1.31 or v1.31.2"
		}
		return "", ""
	}}
}
