# An editor: changes a label of the file.
sed -i "s/tier: front/tier: edited/" "$1"
