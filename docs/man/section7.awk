# SPDX-License-Identifier: MIT
# Make the page of section 7 about a header: its first comment, and the names of the pages of
# section 3. Indented lines stay as they are. `header` is what programs include, `name` is the
# page's, and `version` is Annex's.

function escape(text)
{
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	return text ~ /^[.']/ ? "\\&" text : text
}

# The first sentence is the page's name, the others begin the description.
function begin(	end)
{
	end = match(first, /\.( |$)/) ? RSTART : length(first) + 1
	print ".TH " toupper(name) " 7 \"\" \"annex " version "\" \"Annex\""
	print ".SH NAME\n" name " \\- " escape(substr(first, 1, end - 1))
	print ".SH SYNOPSIS\n.nf\n.B #include <" header ">\n.fi\n.SH DESCRIPTION"
	if (end + 2 < length(first))
		print escape(substr(first, end + 2))
	begun = 1
}

# A line of the comment, without what makes it one.
function take(line)
{
	if (!begun && line != "") {
		first = first (first == "" ? "" : " ") line
		return
	}
	if (!begun)
		begin()
	if (line == "" && !literal)
		print ".PP"
	else if (line ~ /^[ \t]/ && !literal)
		print ".nf"
	else if (line ~ /^[^ \t]/ && literal)
		print ".fi"
	if (line != "")
		literal = line ~ /^[ \t]/
	if (line != "" || literal)
		print escape(line)
}

/^\/\*$/ && !comment {
	comment = 1
	next
}
comment == 1 && /^ \*\// {
	if (!begun)
		begin()
	if (literal)
		print ".fi"
	comment = 2
}
comment == 1 {
	sub(/^ \* ?/, "")
	take($0)
}
/^ \* ((struct|union|enum|typedef) )?(annex|ANNEX)_[A-Za-z0-9_]+(\(\))? - / {
	sub(/^ \* ((struct|union|enum|typedef) )?/, "")
	sub(/(\(\))? - .*/, "")
	if (!seen[$0]++)
		also = also (also == "" ? "" : ",\n") ".BR " $0 " (3)"
}
END {
	if (also != "")
		print ".SH SEE ALSO\n" also
}
