# SPDX-License-Identifier: MIT
# Split what kernel-doc -man makes of a header into pages of section 3: a file in `dir`, which is
# empty, for each function, structure and enumeration; one for both where they have one name.
# `header` is what programs include, `version` is Annex's, and `about` the page of section 7 about
# the header.

# A declaration without its fonts, one parameter or member a line.
function declare(line)
{
	if (line ~ /^\.B "/) {
		gsub(/^\.B |"|ANNEX_GPU_COLD |ANNEX_HD |static |inline /, "", line)
		text = line
		return
	}
	if (line ~ /^\.BI "\(/) {
		gsub(/^\.BI "| *"  "/, "", line)
		sub(/"$/, "", line)
		text = text line
		call = 1
		return
	}
	if (line ~ /^, *$/) {
		text = text ","
		return
	}
	if (line ~ /^\.br$/ || line ~ /^$/ || line ~ /^\.BI "$/)
		return
	if (line ~ /^\.BI /) {
		gsub(/^\.BI "| *"  "/, "", line)
		sub(/"$/, "", line)
	}
	text = text "\n" (call ? "    " : "") line
}

/^\.TH / {
	if (page)
		close(page)
	getline # .SH NAME
	getline
	split($0, words, / \\- /)
	# The page of a structure is called by its tag.
	name = words[1]
	sub(/^(struct|union|enum|typedef) /, "", name)
	page = dir "/" name ".3"
	if (page in pages)
		next
	pages[page]
	print ".TH " toupper(name) " 3 \"\" \"annex " version "\" \"Annex\"" >> page
	print ".SH NAME\n" name " \\- " substr($0, length(words[1]) + 5) >> page
	next
}
/^\.SH SYNOPSIS/ {
	print ".SH SYNOPSIS\n.nf\n.B #include <" header ">\n.PP" >> page
	synopsis = 1
	call = 0
	text = ""
	next
}
/^\.SH / {
	if (synopsis) {
		sub(/^\n/, "", text)
		print text "\n.fi" >> page
	}
	synopsis = 0
	print toupper($0) >> page
	next
}
synopsis {
	declare($0)
	next
}
{
	print >> page
}
END {
	close(page)
	for (page in pages)
		print ".SH SEE ALSO\n.BR " about " (7)" >> page
}
