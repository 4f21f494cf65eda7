package bundle

import "github.com/gantry-mirror/gantry/pkg/catalog"

// images lists the images that the operator may run: the related images of the
// ClusterServiceVersion and the images of its deployments. Like opm it does not find images that
// are named only in environment variables.
func (r *reader) images(m *manifest, c *clusterServiceVersion) {
	known := map[string]bool{"": true}
	empty := 0
	for _, i := range c.Spec.RelatedImages {
		if i.Image == "" {
			empty++
			continue
		}
		known[i.Image] = true
		r.bundle.images = append(r.bundle.images, catalog.RelatedImage(i))
	}
	if empty > 0 {
		r.warn(m.at("spec", "relatedImages"), "%d related images without an image are ignored", empty)
	}
	for _, d := range c.Spec.Install.Spec.Deployments {
		pod := d.Spec.Template.Spec
		for _, containers := range [][]image{pod.Containers, pod.InitContainers} {
			for _, container := range containers {
				if !known[container.Image] {
					known[container.Image] = true
					r.bundle.images = append(r.bundle.images, catalog.RelatedImage{Image: container.Image})
				}
			}
		}
	}
}

// withImage adds the bundle's own image to the related ones unless it is already listed.
func withImage(images []catalog.RelatedImage, own string) []catalog.RelatedImage {
	var all []catalog.RelatedImage
	for _, i := range images {
		all = append(all, i)
		if i.Image == own {
			own = ""
		}
	}
	if own != "" {
		all = append(all, catalog.RelatedImage{Image: own})
	}
	return all
}
