package main

import "github.com/spf13/cobra"

const archiveHelp = `Each file://DIR is a folder with files of the archive. Name all folders if its volumes
are on several disks, or if it builds on earlier archives. The command uses the newest
archive in the folders; --sequence selects another one.
`

func (a *app) archiveCommand() *cobra.Command {
	return group(&cobra.Command{
		Use: "archive",
		Long: `Read the archives that gantry mirror writes to file://DIR. No registry is needed, and
nothing is unpacked. To check an archive for damage, use gantry verify.

` + archiveHelp + `
` + exitCodes(map[int]string{exitMismatch: helpArchive}),
		Example: `  gantry archive inspect file:///media/disk
  gantry archive list file:///media/disk
  gantry archive extract file:///media/disk --image '*/etcd:*' --to layout
  gantry archive diff file:///media/january file:///media/february
  gantry archive convert file:///media/disk-of-oc-mirror --to /srv/converted
  gantry archive rebuild file:///media/disk
  gantry archive serve file:///media/disk
  gantry archive repair-request file:///media/disk --to request.json`,
	}, a.archiveInspectCommand(), a.archiveListCommand(), a.archiveExtractCommand(), a.archiveDiffCommand(), a.archiveConvertCommand(), a.archiveRebuildCommand(), a.archiveRepairRequestCommand(), a.serveCommand())
}
