package image

// Directory is where the image has its catalog, "/configs".
func (i *Image) Directory() string { return "/" + i.dir }

// BinaryLess says that the image has no program for one of its platforms at
// least. A CatalogSource must then have grpcPodConfig.extractContent.
func (i *Image) BinaryLess() bool {
	for _, p := range i.platforms {
		if len(p.command.argv()) == 0 {
			return true
		}
	}
	return false
}
