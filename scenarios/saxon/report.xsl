<?xml version="1.0" encoding="UTF-8"?>
<!-- XSLT 3.0: what each buyer has ordered, by currency, the largest sum first. -->
<xsl:stylesheet version="3.0" exclude-result-prefixes="#all"
                xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
                xmlns:xs="http://www.w3.org/2001/XMLSchema"
                xmlns:po="urn:example:orders"
                xmlns:party="urn:example:party">
  <xsl:output method="xml" indent="yes"/>
  <xsl:template match="/">
    <report orders="{count(po:orders/po:order)}">
      <xsl:for-each-group select="po:orders/po:order" composite="yes"
                          group-by="party:buyer/party:name/string(), po:amount/@currency/string()">
        <xsl:sort select="sum(current-group()/po:amount/xs:decimal(.))" order="descending"/>
        <xsl:sort select="current-grouping-key()[1]"/>
        <buyer name="{current-grouping-key()[1]}" currency="{current-grouping-key()[2]}"
               total="{sum(current-group()/po:amount/xs:decimal(.))}"
               hours="{count(current-group()/po:hours)}"/>
      </xsl:for-each-group>
    </report>
  </xsl:template>
</xsl:stylesheet>
